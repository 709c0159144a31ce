package dev.platter.image.fill;

import com.code_intelligence.jazzer.junit.FuzzTest;
import dev.platter.image.BadImageException;
import dev.platter.image.raw.RawTarget;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * Any file is a disk, or is refused with {@link BadImageException}; nothing takes more than the
 * small heap that it is fuzzed with.
 */
class FillFuzzTest {
  private static final int ROOM = 4 << 20;

  @FuzzTest(maxDuration = "30s")
  void anyBytesAreADiskOrAreRefused(byte[] bytes) throws IOException {
    fill(bytes);
  }

  /** Headers that pass, so that the tables are looked at. The first byte says which format. */
  @FuzzTest(maxDuration = "30s")
  void anyTablesOfADiskAreReadOrRefused(byte[] bytes) throws IOException {
    if (bytes.length == 0) {
      return;
    }
    ByteBuffer file = ByteBuffer.allocate(16384);
    switch (bytes[0] & 3) {
      case 0 -> {
        file.order(ByteOrder.LITTLE_ENDIAN).putInt(64, 0xbeda107f).putInt(68, 0x10001);
        file.putInt(76, 1).putInt(340, 512).putInt(344, 1024).putInt(360, 512);
        file.putLong(368, 4 << 20).putInt(376, 1 << 20).putInt(384, 4);
        put(file, 512, bytes);
      }
      case 1 -> {
        file.putInt(0x514649fb).putInt(3).putInt(20, 9).putLong(24, 256 << 10);
        file.putInt(36, 8).putLong(40, 1024).putLong(48, 512).putInt(56, 1);
        file.putInt(96, 4).putInt(100, 104);
        put(file, 1024, bytes);
      }
      default -> {
        var descriptor =
            "parentCID=ffffffff\ncreateType=\"%s\"\nRW 128 SPARSE \"x\"\n"
                .formatted((bytes[0] & 3) == 2 ? "monolithicSparse" : "streamOptimized");
        file.order(ByteOrder.LITTLE_ENDIAN).put("KDMV".getBytes()).putInt(1);
        file.putInt(8, (bytes[0] & 3) == 2 ? 3 : 3 | 3 << 16).putLong(12, 1024).putLong(20, 8);
        file.putLong(28, 1).putLong(36, 1).putInt(44, 512).putInt(73, 0x0a0d200a);
        file.putLong(56, (bytes[0] & 4) == 0 ? 2 : -1).putLong(64, 3).putShort(77, (short) 1);
        file.put(512, descriptor.getBytes());
        put(file, 1024, bytes);
      }
    }
    fill(file.array());
  }

  private static void put(ByteBuffer file, int at, byte[] bytes) {
    file.put(at, bytes, 1, Math.min(bytes.length - 1, file.capacity() - at));
  }

  private static void fill(byte[] bytes) throws IOException {
    Path to = Files.createTempFile(Path.of("/dev/shm"), "fill-fuzz-", "");
    try (RawTarget target = RawTarget.emptied(to)) {
      new DiskFill(target, ROOM, null, null, _ -> {}).from(new ByteArrayInputStream(bytes), -1);
      if (Files.size(to) != ROOM) {
        throw new AssertionError("a target of " + Files.size(to) + " bytes");
      }
    } catch (BadImageException e) {
      // Refused: that is an answer.
    } finally {
      Files.delete(to);
    }
  }
}
