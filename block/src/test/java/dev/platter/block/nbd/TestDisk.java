package dev.platter.block.nbd;

import dev.platter.image.raw.SparseFile;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;
import java.util.Random;

/** Disks to serve: noise and holes, where nothing is aligned that need not be. */
final class TestDisk {
  static final int SIZE = 24 << 20;

  private TestDisk() {}

  /** Large and small runs of data, and more hole than data. */
  static Path file(Path path) throws IOException {
    blank(path, SIZE);
    try (var channel = FileChannel.open(path, StandardOpenOption.WRITE)) {
      channel.write(ByteBuffer.wrap(noise(5_000_000, 1)), 0);
      channel.write(ByteBuffer.wrap(noise(4096, 2)), 8 << 20);
      channel.write(ByteBuffer.wrap(noise(70_000, 3)), (9 << 20) + 4096);
      channel.write(ByteBuffer.wrap(noise(777, 4)), SIZE - 777);
    }
    return path;
  }

  static Path blank(Path path, long size) throws IOException {
    SparseFile.create(path, size);
    return path;
  }

  static byte[] noise(int size, long state) {
    byte[] bytes = new byte[size];
    new Random(state).nextBytes(bytes);
    return bytes;
  }

  static long allocated(Path path) throws IOException {
    return 512 * Long.parseLong(dev.platter.lab.Shell.run("stat", "-c", "%b", path).trim());
  }

  static String sha256(Path path) throws IOException {
    try {
      return HexFormat.of()
          .formatHex(MessageDigest.getInstance("SHA-256").digest(Files.readAllBytes(path)));
    } catch (NoSuchAlgorithmException e) {
      throw new AssertionError(e);
    }
  }
}
