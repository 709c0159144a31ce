package dev.platter.image.ext4;

import static dev.platter.image.ext4.ExtImage.file;
import static org.assertj.core.api.Assertions.assertThat;

import dev.platter.image.BadImageException;
import dev.platter.image.ByteSource;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Random;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * A file system with some bytes changed is written to or refused; nothing else happens. Those
 * without checksums let the changes through to where they are used.
 */
class HostileExtTest {
  private static final int ROUNDS = Integer.getInteger("ext4.rounds", 2000);

  @TempDir Path dir;

  @ParameterizedTest
  @Timeout(600)
  @ValueSource(
      strings = {
        "-t ext4 -b 1024 -O ^has_journal,^metadata_csum,^uninit_bg,^resize_inode",
        "-t ext4 -b 1024 -O ^has_journal,^resize_inode",
        "-t ext4 -b 1024 -O ^has_journal,^metadata_csum,^uninit_bg,^resize_inode,meta_bg -g 1024",
        "-t ext2 -b 1024 -O ^resize_inode",
        "-t ext2 -b 4096 -O ^resize_inode"
      })
  void changedBytesAreSurvived(String options) throws IOException {
    Path tree = ExtImage.tree(Files.createDirectory(dir.resolve("tree")));
    byte[] original = Files.readAllBytes(ExtImage.make(dir, 6, options + " -N 1024", tree).file());
    int[] structures = structures(original);
    var random = new Random(options.hashCode());
    int taken = 0;
    for (int round = 0; round < ROUNDS; round++) {
      byte[] bytes = original.clone();
      int changes = 1 + random.nextInt(8);
      StringBuilder what = new StringBuilder();
      for (int i = 0; i < changes; i++) {
        int at = structures[random.nextInt(structures.length)];
        bytes[at] = value(random, bytes[at]);
        what.append(" 0x%x=%d".formatted(at, bytes[at]));
      }
      try {
        Ext4Files.write(ByteSource.of(bytes), files(), ExtImage.NOW);
        taken++;
      } catch (BadImageException e) {
        assertThat(e).hasMessageContaining("ext");
      } catch (RuntimeException | Error e) {
        throw new AssertionError("round " + round + " of " + options + ":" + what, e);
      }
    }
    // Both happen, or the changes are not where they matter.
    assertThat(taken).isBetween(ROUNDS / 100, ROUNDS - ROUNDS / 100);
  }

  private static List<NewFile> files() {
    return List.of(
        file("/etc/hostname", "x"),
        file("/etc/alias", "y".repeat(30_000)),
        file("/many/" + "z".repeat(200), "z"),
        file("/long/roundabout", ""),
        file("/usr/big", "big"),
        file("/new/file", "new"));
  }

  /** Bytes that mean something, mostly: not zeros, garbage, or the contents of files. */
  private static int[] structures(byte[] bytes) {
    return IntStream.range(1024, bytes.length)
        .filter(at -> at < 4096 || (bytes[at] != 0 && bytes[at] != (byte) 0xA5))
        .filter(at -> at < 2048 || !isText(bytes, at))
        .toArray();
  }

  private static boolean isText(byte[] bytes, int at) {
    return "real\n-file-with-a-name-".indexOf(bytes[at]) >= 0 && bytes[at - 1] >= '\n';
  }

  private static byte value(Random random, byte before) {
    return switch (random.nextInt(5)) {
      case 0 -> 0;
      case 1 -> -1;
      case 2 -> (byte) (before + 1);
      case 3 -> (byte) (before ^ 1 << random.nextInt(8));
      default -> (byte) random.nextInt();
    };
  }
}
