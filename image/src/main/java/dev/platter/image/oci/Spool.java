package dev.platter.image.oci;

import java.io.Closeable;
import java.io.IOException;
import java.io.InputStream;
import java.io.RandomAccessFile;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;

/**
 * A temporary file that is gone when closed, unless it was kept. Zeros become holes, so a disk
 * takes the room of its data.
 */
final class Spool implements Closeable {
  private static final int BLOCK = 64 << 10;
  private static final byte[] ZEROS = new byte[BLOCK];

  private final Path file;
  private byte[] head = {};
  private boolean kept;

  private Spool(Path file) {
    this.file = file;
  }

  static Spool in(Path directory) throws IOException {
    return new Spool(Files.createTempFile(directory, "disk-", ".spool"));
  }

  /** Replaces what the file had by everything {@code in} has. */
  void fill(InputStream in) throws IOException {
    try (var out = new RandomAccessFile(file.toFile(), "rw")) {
      out.setLength(0);
      byte[] block = new byte[BLOCK];
      long length = 0;
      for (int read; (read = in.readNBytes(block, 0, BLOCK)) > 0; length += read) {
        if (length == 0) {
          head = Arrays.copyOf(block, Math.min(read, 512));
        }
        if (!Arrays.equals(block, 0, read, ZEROS, 0, read)) {
          out.seek(length);
          out.write(block, 0, read);
        }
      }
      out.setLength(length);
    }
  }

  /** Hands the file over to the caller. */
  ExtractedDisk keep(String name) {
    kept = true;
    return new ExtractedDisk(file, name, ExtractedDisk.Format.of(head));
  }

  @Override
  public void close() throws IOException {
    if (!kept) {
      Files.deleteIfExists(file);
    }
  }
}
