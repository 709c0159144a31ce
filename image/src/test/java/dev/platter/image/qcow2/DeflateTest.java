package dev.platter.image.qcow2;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.platter.image.Libdeflate;
import dev.platter.image.testing.MixedBytes;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.Random;
import java.util.zip.Deflater;
import org.junit.jupiter.api.Test;

/** Both decoders of deflate, on streams that somebody has changed. */
class DeflateTest {
  private static final int CLUSTER = 1 << 16;
  private static final int GUARD = 4096;
  private static final byte MARK = 0x5a;

  @Test
  void changedStreamsUnpackToTheSameWithBothAndNothingElseIsWritten() {
    assumeTrue(Libdeflate.isAvailable(), "libdeflate is not installed, or off");
    Random random = new Random(11);
    int taken = 0;
    try (Decompressor fast = new LibdeflateDecompressor();
        Decompressor plain = new ZlibDecompressor()) {
      for (int round = 0; round < 3000; round++) {
        byte[] packed = packed(random);
        for (int change = random.nextInt(3); change > 0; change--) {
          packed[random.nextInt(packed.length)] ^= (byte) (1 << random.nextInt(8));
        }
        ByteBuffer one = guarded();
        ByteBuffer other = guarded();
        boolean ok = fast.fill(direct(packed), one);
        assertThat(plain.fill(direct(packed), other)).as("round %d", round).isEqualTo(ok);
        assertThat(guardHolds(one)).isTrue();
        if (ok) {
          taken++;
          assertThat(one.position(GUARD)).as("round %d", round).isEqualTo(other.position(GUARD));
        }
      }
    }
    assertThat(taken).isBetween(500, 2900);
  }

  private static byte[] packed(Random random) {
    byte[] bytes = MixedBytes.of(CLUSTER, random.nextInt());
    try (Deflater deflater = new Deflater(1 + random.nextInt(9), true)) {
      deflater.setStrategy(random.nextInt(3));
      deflater.setInput(bytes);
      deflater.finish();
      byte[] out = new byte[2 * CLUSTER];
      int length = 0;
      while (!deflater.finished()) {
        length += deflater.deflate(out, length, out.length - length);
      }
      return Arrays.copyOf(out, length);
    }
  }

  /** Room for a cluster, with room before and behind it that must stay as it is. */
  private static ByteBuffer guarded() {
    ByteBuffer buffer = ByteBuffer.allocateDirect(CLUSTER + 2 * GUARD);
    while (buffer.hasRemaining()) {
      buffer.put(MARK);
    }
    return buffer.position(GUARD).limit(GUARD + CLUSTER);
  }

  private static boolean guardHolds(ByteBuffer buffer) {
    for (int at = 0; at < GUARD; at++) {
      if (buffer.duplicate().clear().get(at) != MARK
          || buffer.duplicate().clear().get(GUARD + CLUSTER + at) != MARK) {
        return false;
      }
    }
    return true;
  }

  private static ByteBuffer direct(byte[] bytes) {
    return ByteBuffer.allocateDirect(bytes.length).put(bytes).flip();
  }
}
