package dev.platter.image.qcow2;

import com.code_intelligence.jazzer.junit.FuzzTest;
import dev.platter.image.BadImageException;
import dev.platter.image.ByteSource;
import java.io.IOException;
import java.nio.ByteBuffer;

/**
 * Any bytes are read to the end or refused with {@link BadImageException}. An ordinary test run
 * tries the inputs in {@code Qcow2FuzzTestInputs}; to fuzz one method for 30 seconds:
 *
 * <pre>
 *   JAZZER_FUZZ=1 mvn -pl image test -Dtest=Qcow2FuzzTest#anyBytesAreReadOrRefused \
 *     -Dtest.jvm="-XX:+UseSerialGC -Xmx256m --enable-native-access=ALL-UNNAMED"
 * </pre>
 */
class Qcow2FuzzTest {
  private static final Limits SMALL = new Limits(1 << 20, 1 << 16);

  @FuzzTest(maxDuration = "30s")
  void anyBytesAreReadOrRefused(byte[] bytes) throws IOException {
    readAll(bytes);
  }

  /** Subclusters need clusters of 16 KiB, which is too much to mutate: here only entries vary. */
  @FuzzTest(maxDuration = "30s")
  void anyExtendedEntriesAreReadOrRefused(byte[] entries) throws IOException {
    int cluster = 1 << 14;
    ByteBuffer image = ByteBuffer.allocate(8 * cluster - 1000);
    image.putInt(Header.MAGIC).putInt(3).putInt(20, 14).putLong(24, 40 * cluster);
    image.putInt(36, 1).putLong(40, cluster); // L1
    image.putLong(48, 2 * cluster).putInt(56, 1); // refcount table
    image.putLong(72, 1 << 4).putInt(96, 4).putInt(100, 104); // extended L2
    image.putLong(cluster, 3 * cluster);
    image.put(3 * cluster, entries, 0, Math.min(entries.length, cluster));
    readAll(image.array());
  }

  private static void readAll(byte[] bytes) throws IOException {
    try (Qcow2Reader reader = Qcow2Reader.open(ByteSource.of(bytes), SMALL)) {
      ByteBuffer piece = ByteBuffer.allocate(100_003);
      long at = 0;
      for (int n = reader.read(at, piece); n >= 0; n = reader.read(at, piece.clear())) {
        at += n;
      }
      if (at != reader.virtualSize()) {
        throw new AssertionError("read " + at + " of " + reader.virtualSize());
      }
    } catch (BadImageException e) {
      // Refused: that is an answer.
    }
  }
}
