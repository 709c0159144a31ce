package dev.platter.image.fill;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.platter.image.Digest;
import dev.platter.image.ForeignTool;
import dev.platter.image.testing.MixedBytes;
import java.io.ByteArrayInputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Random;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.tukaani.xz.XZIOException;
import org.tukaani.xz.XZInputStream;

/** What libraries of this machine do is what Java does, also with damaged files. */
class LzmaTest {
  private static final int SIZE = 3 << 20;
  private static final int MOST = 128 << 20;

  @TempDir Path dir;
  private byte[] plain = {};

  @BeforeEach
  void isInstalled() throws IOException {
    assumeTrue(Lzma.isAvailable(), "no liblzma.so.5");
    plain = MixedBytes.of(SIZE, 5);
    Files.write(dir.resolve("plain"), plain);
  }

  private byte[] packed(String command) throws IOException {
    ForeignTool.sh(dir, command + " >packed");
    return Files.readAllBytes(dir.resolve("packed"));
  }

  /** All bytes, or null if the file is refused. */
  private static byte @Nullable [] read(byte[] packed, boolean library) throws IOException {
    try (InputStream in =
        library
            ? Lzma.open(new ByteArrayInputStream(packed), MOST)
            : new XZInputStream(new ByteArrayInputStream(packed), MOST >> 10)) {
      return in.readAllBytes();
    } catch (XZIOException | EOFException e) {
      return null;
    }
  }

  @Test
  void whateverXzWritesIsUnpacked() throws IOException {
    for (String command :
        new String[] {
          "xz -0 -c plain",
          "xz -9 -c plain",
          "xz -T 2 --block-size=300000 -c plain",
          "xz --check=none -c plain",
          "xz --x86 --lzma2 -c plain",
          "(head -c 1M plain | xz -c; tail -c +1048577 plain | xz -c; head -c 8 /dev/zero)"
        }) {
      assertThat(read(packed(command), true)).as(command).isEqualTo(plain);
    }
    assertThat(read(packed("printf '' | xz -c"), true)).isEmpty();
  }

  @Test
  void whatIsDamagedIsRefusedByBothOrByNone() throws IOException {
    byte[] whole = packed("xz -T 2 --block-size=300000 -0 -c plain");
    assertThat(read(Arrays.copyOf(whole, whole.length / 2), true)).isNull();
    assertThat(read(Arrays.copyOf(whole, whole.length - 1), true)).isNull();
    assertThat(read(new byte[] {1, 2, 3}, true)).isNull();
    var random = new Random(1);
    for (int i = 0; i < 40; i++) {
      byte[] damaged = whole.clone();
      int at = random.nextInt(i % 2 == 0 ? damaged.length : 100);
      damaged[at] ^= (byte) (1 << random.nextInt(8));
      assertThat(read(damaged, true)).as("byte %d", at).isEqualTo(read(damaged, false));
    }
  }

  /** The memory of a library is somebody else's after that. */
  @Test
  void nothingIsReachedOnceItIsClosed() throws IOException {
    FileDigest digest = FileDigest.start();
    assumeTrue(digest instanceof FileDigest.Libcrypto, "no libcrypto.so.3");
    digest.update(plain, 0, 10);
    digest.close();
    digest.close();
    assertThatThrownBy(digest::finish).isInstanceOf(IllegalStateException.class);
    assertThatThrownBy(() -> digest.update(plain, 0, 10)).isInstanceOf(IllegalStateException.class);
    InputStream in = Lzma.open(new ByteArrayInputStream(packed("xz -0 -c plain")), MOST);
    assertThat(in.read()).isEqualTo(plain[0] & 0xff);
    in.close();
    in.close();
    assertThatThrownBy(in::read).isInstanceOf(IllegalStateException.class);
  }

  @Test
  void aDigestIsTheSameWhoeverMakesIt() {
    try (var digest = FileDigest.start();
        var aside = new DigestAside(FileDigest::start);
        var ofTheJdk = new FileDigest.OfTheJdk(Digest.sha256())) {
      for (int at = 0; at < plain.length; at += 100_000) {
        int n = Math.min(100_000, plain.length - at);
        digest.update(plain, at, n);
        aside.update(plain, at, n);
        ofTheJdk.update(plain, at, n);
      }
      assertThat(digest.finish()).isEqualTo(ofTheJdk.finish()).isEqualTo(Digest.of(plain));
      assertThat(aside.finish()).isEqualTo(Digest.of(plain));
    }
    byte[] odd = Arrays.copyOf(plain, plain.length - 7); // its last piece is not full
    try (var aside = new DigestAside(FileDigest::start)) {
      aside.update(odd, 0, odd.length);
      assertThat(aside.finish()).isEqualTo(Digest.of(odd));
    }
  }
}
