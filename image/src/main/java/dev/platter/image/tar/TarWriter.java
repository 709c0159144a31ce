package dev.platter.image.tar;

import java.io.Closeable;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/**
 * Writes an archive whose bytes depend on nothing but names and contents: no times, one owner.
 *
 * <p>Headers are ustar; a pax header comes before an entry only if its name or size does not fit.
 */
public final class TarWriter implements Closeable {
  private static final long MAX_OCTAL_ID = 07777777;
  private static final long MAX_OCTAL_SIZE = 077777777777L;

  private final OutputStream out;
  private final int uid;
  private final int gid;

  /** Every entry belongs to {@code uid} and {@code gid}. Closing the writer closes {@code out}. */
  public TarWriter(OutputStream out, int uid, int gid) {
    if (uid < 0 || uid > MAX_OCTAL_ID || gid < 0 || gid > MAX_OCTAL_ID) {
      throw new IllegalArgumentException("uid " + uid + " or gid " + gid + " does not fit a tar");
    }
    this.out = out;
    this.uid = uid;
    this.gid = gid;
  }

  public void directory(String name, int mode) throws IOException {
    header(name.endsWith("/") ? name : name + "/", '5', mode, 0);
  }

  /**
   * Starts a file whose content the caller writes to the stream itself, and pads to a multiple of
   * 512 bytes.
   */
  public void fileHeader(String name, int mode, long size) throws IOException {
    header(name, '0', mode, size);
  }

  /** Copies exactly {@code size} bytes; a stream that ends early is an error. */
  public void file(String name, int mode, long size, InputStream content) throws IOException {
    fileHeader(name, mode, size);
    byte[] buffer = new byte[64 << 10];
    for (long left = size; left > 0; ) {
      int read = content.read(buffer, 0, (int) Math.min(buffer.length, left));
      if (read < 0) {
        throw new EOFException(name + " became " + left + " bytes shorter while it was packed");
      }
      out.write(buffer, 0, read);
      left -= read;
    }
    pad(size);
  }

  /** Ends the archive. */
  @Override
  public void close() throws IOException {
    try (out) {
      out.write(new byte[2 * TarHeader.BLOCK]);
    }
  }

  private void header(String name, char type, int mode, long size) throws IOException {
    byte[] bytes = name.getBytes(StandardCharsets.UTF_8);
    var pax = new StringBuilder();
    // ustar names are ASCII; anything else is only defined in a pax header.
    if (bytes.length > TarHeader.NAME_LENGTH || bytes.length != name.length()) {
      pax.append(paxRecord("path", name));
    }
    if (size > MAX_OCTAL_SIZE) {
      pax.append(paxRecord("size", Long.toString(size)));
    }
    if (!pax.isEmpty()) {
      byte[] records = pax.toString().getBytes(StandardCharsets.UTF_8);
      block("pax".getBytes(StandardCharsets.UTF_8), 'x', 0644, records.length);
      out.write(records);
      pad(records.length);
    }
    block(bytes, type, mode, Math.min(size, MAX_OCTAL_SIZE));
  }

  private void block(byte[] name, char type, int mode, long size) throws IOException {
    byte[] block = new byte[TarHeader.BLOCK];
    System.arraycopy(name, 0, block, TarHeader.NAME, Math.min(name.length, TarHeader.NAME_LENGTH));
    octal(block, TarHeader.MODE, 8, mode);
    octal(block, TarHeader.UID, 8, uid);
    octal(block, TarHeader.GID, 8, gid);
    octal(block, TarHeader.SIZE, TarHeader.SIZE_LENGTH, size);
    octal(block, TarHeader.MTIME, 12, 0);
    block[TarHeader.TYPE] = (byte) type;
    System.arraycopy(
        "ustar\00000".getBytes(StandardCharsets.US_ASCII), 0, block, TarHeader.MAGIC, 8);

    Arrays.fill(block, TarHeader.CHECKSUM, TarHeader.CHECKSUM + 8, (byte) ' ');
    int sum = 0;
    for (byte b : block) {
      sum += b & 0xff;
    }
    octal(block, TarHeader.CHECKSUM, 7, sum);
    out.write(block);
  }

  private static void octal(byte[] block, int at, int length, long value) {
    String digits = Long.toOctalString(value);
    int zeros = length - 1 - digits.length();
    Arrays.fill(block, at, at + zeros, (byte) '0');
    byte[] ascii = digits.getBytes(StandardCharsets.US_ASCII);
    System.arraycopy(ascii, 0, block, at + zeros, ascii.length);
    block[at + length - 1] = 0;
  }

  /** The length counts its own digits, so it is found by trying. */
  private static String paxRecord(String key, String value) {
    int body = (" " + key + "=" + value + "\n").getBytes(StandardCharsets.UTF_8).length;
    int total = body + 1;
    while (total != body + Integer.toString(total).length()) {
      total++;
    }
    return total + " " + key + "=" + value + "\n";
  }

  private void pad(long size) throws IOException {
    out.write(new byte[(int) (-size & (TarHeader.BLOCK - 1))]);
  }
}
