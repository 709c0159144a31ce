package dev.platter.image.lazy;

import com.code_intelligence.jazzer.junit.FuzzTest;
import dev.platter.image.BadImageException;
import dev.platter.image.oci.Progress;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;

/**
 * Arbitrary bytes as the tar of a layer: either a disk comes out or the bytes are refused, in
 * bounded memory and time. Fuzzes with {@code JAZZER_FUZZ=1}, else replays the corpus.
 */
class TarFuzzTest {
  @FuzzTest(maxDuration = "30s")
  void anyBytesGiveADiskOrAreRefused(byte[] input) throws IOException {
    byte[] tar = input.length % 2 == 0 ? withChecksums(input) : input;
    var image = new MemoryImage().plainLayer(tar).plainLayer(tar);
    Path left = Path.of("target");
    try {
      var disk = DiskImage.extract(image, image.manifest(), left, Progress.NONE);
      Files.delete(disk.file());
      String name = disk.name();
      if (name.isEmpty() || name.contains("/") || name.equals("..")) {
        throw new AssertionError("a disk named " + name);
      }
    } catch (BadImageException refused) {
      // The only allowed answer to a bad tar.
    }
  }

  /** Without this hardly any input would get past the first header. */
  private static byte[] withChecksums(byte[] input) {
    byte[] tar = input.clone();
    for (int block = 0; block + 512 <= tar.length; block += 512) {
      Arrays.fill(tar, block + 148, block + 156, (byte) ' ');
      int sum = 0;
      for (int i = block; i < block + 512; i++) {
        sum += tar[i] & 0xff;
      }
      boolean endOfArchive = sum == 8 * ' ';
      for (int digit = 0; digit < 8; digit++) {
        int octal = digit < 6 ? '0' + (sum >> 3 * (5 - digit) & 7) : 0;
        tar[block + 148 + digit] = (byte) (endOfArchive ? 0 : octal);
      }
    }
    return tar;
  }
}
