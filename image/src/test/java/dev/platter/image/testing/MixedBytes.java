package dev.platter.image.testing;

import java.util.Arrays;
import java.util.Random;

/** Disk contents as disks have them: random stretches, repetitive ones and zeros. */
public final class MixedBytes {
  private MixedBytes() {}

  public static byte[] of(int size, long randomState) {
    Random random = new Random(randomState);
    byte[] bytes = new byte[size];
    for (int at = 0; at < size; ) {
      int end = Math.min(size, at + 1 + random.nextInt(300_000));
      switch (random.nextInt(4)) {
        case 0 -> {} // zeros
        case 1 -> Arrays.fill(bytes, at, end, (byte) random.nextInt());
        case 2 -> {
          byte[] noise = new byte[end - at];
          random.nextBytes(noise);
          System.arraycopy(noise, 0, bytes, at, noise.length);
        }
        default -> {
          for (int i = at; i < end; i++) {
            bytes[i] = (byte) (i % 19 + random.nextInt(8) / 7);
          }
        }
      }
      at = end;
    }
    return bytes;
  }
}
