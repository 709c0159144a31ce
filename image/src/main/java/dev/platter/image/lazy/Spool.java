package dev.platter.image.lazy;

import dev.platter.image.DiskSink;
import dev.platter.image.oci.ExtractedDisk;
import java.io.Closeable;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;

/**
 * A temporary file that is gone when closed, unless it was kept. Zeros become holes, so a disk
 * takes the room of its data.
 */
final class Spool implements DiskSink, Closeable {
  private static final int BLOCK = 64 << 10;
  private static final byte[] ZEROS = new byte[BLOCK];

  private final Path file;
  private final RandomAccessFile out;
  private final byte[] block = new byte[BLOCK];
  private String name = "";
  private byte[] head = {};
  private long length;
  private int filled;
  private boolean kept;

  private Spool(Path file) throws IOException {
    this.file = file;
    this.out = new RandomAccessFile(file.toFile(), "rw");
  }

  static Spool in(Path directory) throws IOException {
    return new Spool(Files.createTempFile(directory, "disk-", ".spool"));
  }

  @Override
  public void begin(String name, long size) throws IOException {
    this.name = name;
    out.setLength(0);
    length = 0;
    filled = 0;
    head = new byte[0];
  }

  @Override
  public void bytes(ByteBuffer bytes) throws IOException {
    while (bytes.hasRemaining()) {
      int n = Math.min(bytes.remaining(), BLOCK - filled);
      bytes.get(block, filled, n);
      filled += n;
      if (filled == BLOCK) {
        writeBlock();
      }
    }
  }

  private void writeBlock() throws IOException {
    if (length == 0) {
      head = Arrays.copyOf(block, Math.min(filled, 512));
    }
    if (!Arrays.equals(block, 0, filled, ZEROS, 0, filled)) {
      out.seek(length);
      out.write(block, 0, filled);
    }
    length += filled;
    filled = 0;
  }

  /** Hands the file over to the caller. */
  ExtractedDisk keep() throws IOException {
    writeBlock();
    out.setLength(length);
    kept = true;
    String last = name.substring(name.lastIndexOf('/') + 1);
    return new ExtractedDisk(file, last, ExtractedDisk.Format.of(head));
  }

  @Override
  public void close() throws IOException {
    out.close();
    if (!kept) {
      Files.deleteIfExists(file);
    }
  }
}
