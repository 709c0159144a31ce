package dev.platter.image.gzip;

import com.code_intelligence.jazzer.junit.FuzzTest;
import dev.platter.image.BadImageException;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.Arrays;

/**
 * Any bytes are an index, or a stream that is indexed and resumed, or refused with {@link
 * BadImageException}. An ordinary test run tries the inputs in {@code GzipIndexFuzzTestInputs}; to
 * fuzz one method for 30 seconds:
 *
 * <pre>
 *   JAZZER_FUZZ=1 mvn -pl image test -Dtest=GzipIndexFuzzTest#anyBytesAreAnIndexOrAreRefused \
 *     -Dtest.jvm="-XX:+UseSerialGC -Xmx256m --enable-native-access=ALL-UNNAMED"
 * </pre>
 */
class GzipIndexFuzzTest {
  private static final int MAX_PLAIN = 1 << 20;

  @FuzzTest(maxDuration = "30s")
  void anyBytesAreAnIndexOrAreRefused(byte[] bytes) throws IOException {
    try {
      GzipIndex index = GzipIndex.read(ByteBuffer.wrap(bytes));
      for (int span = 0; span < Math.min(index.spans(), 50); span++) {
        index.window(span);
      }
      for (int i = 0; i < Math.min(index.pieces(), 50); i++) {
        PackedRange range = index.piece(i).packed();
        if (range.start() < 0 || range.end() > index.packedSize()) {
          throw new AssertionError(range + " is outside");
        }
        if (index.isWithinLimits(i)) {
          new GzipResume(index).decode(i, new byte[range.length()]);
        }
      }
    } catch (BadImageException e) {
      // Refused: that is an answer.
    }
  }

  /** As a bare deflate stream too: the checksums of gzip stop nearly every mutation at the door. */
  @FuzzTest(maxDuration = "30s")
  void anyBytesAreIndexedAsZlibReadsThem(byte[] bytes) throws IOException {
    SameAsZlib.took(bytes, 1 << 16);
    byte[] plain;
    GzipIndex index;
    try (var in = new GzipIndexer(new ByteArrayInputStream(bytes), MAX_PLAIN, Inflate.WINDOW)) {
      plain = in.readAllBytes();
      index = in.finish();
    } catch (BadImageException e) {
      return; // Refused: that is an answer.
    }
    for (int i = 0; i < index.pieces(); i++) {
      GzipIndex.Piece piece = index.piece(i);
      byte[] packed =
          Arrays.copyOfRange(bytes, (int) piece.packed().start(), (int) piece.packed().end());
      byte[] wanted = Arrays.copyOfRange(plain, (int) piece.start(), (int) piece.end());
      for (boolean zlib : new boolean[] {true, false}) {
        if (!Arrays.equals(new GzipResume(index, zlib).decode(i, packed), wanted)) {
          throw new AssertionError("other bytes at " + piece.start());
        }
      }
    }
  }
}
