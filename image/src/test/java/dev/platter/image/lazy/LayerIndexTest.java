package dev.platter.image.lazy;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.platter.image.BadImageException;
import dev.platter.image.Digest;
import dev.platter.image.oci.Progress;
import dev.platter.image.testing.MixedBytes;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.function.Consumer;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** What is stored is read as it was, or refused. */
class LayerIndexTest {
  private static final int FIRST_ENTRY = 8 + 32 + 32 + 1 + 8 + 4;

  private byte[] stored = {};

  @BeforeEach
  void makeAnIndex() throws IOException {
    byte[] disk = MixedBytes.of(600_000, 8);
    byte[] tar =
        MemoryImage.tar(
            writer -> {
              writer.directory("disk", 0755);
              writer.file("disk/x", 0644, disk.length, new ByteArrayInputStream(disk));
              writer.file("data", 0644, 10, new ByteArrayInputStream(new byte[10]));
            });
    stored = stored(new MemoryImage().plainLayer(tar));
  }

  private static byte[] stored(MemoryImage image) throws IOException {
    var out = new ByteArrayOutputStream();
    DiskLocator.of(image, image.manifest(), LayerIndexes.NONE).stream(
        new DiskWaysTest.Taken(), index -> index.writeTo(out), Progress.NONE);
    return out.toByteArray();
  }

  @Test
  void itIsTheSameEachTimeItIsWritten() throws IOException {
    LayerIndex index = LayerIndex.read(ByteBuffer.wrap(stored));
    var again = new ByteArrayOutputStream();
    index.writeTo(again);
    assertThat(again.toByteArray()).isEqualTo(stored);
    assertThat(index.entries()).hasSize(3);
    assertThat(index.diffId()).isEqualTo(index.layer());
    assertThat(index.file(1)).isPresent();
    assertThat(index.file(0)).isEmpty();
    assertThat(index.file(2)).isEmpty();
  }

  @Test
  void damageIsFoundWhereverItIs() {
    for (int i = 0; i < stored.length; i++) {
      byte[] damaged = stored.clone();
      damaged[i] ^= 4;
      assertRefused(damaged, i < 8 ? "of this version" : "it is damaged");
    }
    for (int length = 0; length < stored.length; length++) {
      assertRefused(Arrays.copyOf(stored, length), "");
    }
  }

  /** As somebody could write it who knows how. */
  @Test
  void whatCannotBeIsRefused() {
    refused(b -> b.put(72, (byte) 9), "format 9");
    refused(b -> b.put(72, (byte) 3), "number of files 1"); // zstd has no digests
    refused(b -> b.put(72, (byte) 2), "gzip index refused");
    refused(b -> b.putLong(73, -1), "offset");
    refused(b -> b.putInt(81, -1), "number of entries -1");
    refused(b -> b.putInt(81, Integer.MAX_VALUE), "number of entries");
    refused(b -> b.putInt(81, 2), "");
    refused(b -> b.put(FIRST_ENTRY, (byte) 5), "type 5");
    refused(b -> b.putLong(FIRST_ENTRY + 1, Long.MAX_VALUE), "size");
    refused(b -> b.putLong(FIRST_ENTRY + 9, 1 << 30), "offset");
    refused(b -> b.putLong(FIRST_ENTRY + 9, 5000), "offset"); // entries out of order
    refused(b -> b.putInt(FIRST_ENTRY + 17, -1), "length of a name");
    refused(b -> b.putInt(FIRST_ENTRY + 17, 1 << 30), "length of a name");
    refused(b -> b.put(FIRST_ENTRY + 21, (byte) 0xff), "no UTF-8");
    int files = stored.length - 32 - 3 * 32 - 4 - 4;
    refused(b -> b.putInt(files, 0), "rest");
    refused(b -> b.putInt(files, 4), "number of files 4");
    refused(b -> b.putInt(files, 2), "");
    refused(b -> b.putInt(files + 4, 3), "file 3");
    refused(b -> b.putInt(files + 4, 2), "rest");
  }

  private void refused(Consumer<ByteBuffer> change, String why) {
    byte[] body = Arrays.copyOf(stored, stored.length - 32);
    change.accept(ByteBuffer.wrap(body));
    byte[] all = Arrays.copyOf(body, stored.length);
    byte[] digest = Digest.of(body).bytes();
    System.arraycopy(digest, 0, all, body.length, digest.length);
    assertRefused(all, why);
  }

  private static void assertRefused(byte[] bytes, String why) {
    assertThatThrownBy(() -> LayerIndex.read(ByteBuffer.wrap(bytes)))
        .isInstanceOf(BadImageException.class)
        .hasMessageContaining("refused")
        .hasMessageContaining(why);
  }
}
