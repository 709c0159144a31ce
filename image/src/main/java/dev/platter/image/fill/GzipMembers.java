package dev.platter.image.fill;

import dev.platter.image.BufferStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.util.zip.CRC32;
import java.util.zip.DataFormatException;
import java.util.zip.Inflater;
import java.util.zip.ZipException;

/**
 * All members of a gzip file, one after the other. Unlike the JDK's stream it does not take a
 * damaged header of a later member for the end: only zeros may follow the last one.
 */
final class GzipMembers extends BufferStream {
  private static final int BUFFER = 64 << 10;
  private static final int MAGIC = 0x1f8b;
  private static final int DEFLATE = 8;
  private static final int HEADER_CRC = 1 << 1;
  private static final int EXTRA = 1 << 2;
  private static final int NAME = 1 << 3;
  private static final int COMMENT = 1 << 4;
  private static final int RESERVED = 0xe0;

  private final InputStream in;
  private final byte[] buffer = new byte[BUFFER];
  private final Inflater inflater = new Inflater(true);
  private final CRC32 crc = new CRC32();
  private int at;
  private int end;
  private boolean ended;

  GzipMembers(InputStream in) throws IOException {
    this.in = in;
    header(octet());
  }

  private boolean fill() throws IOException {
    at = 0;
    end = Math.max(0, in.read(buffer));
    return end > 0;
  }

  private int octet() throws IOException {
    if (at == end && !fill()) {
      throw new EOFException("the gzip ends in the middle of a member");
    }
    return buffer[at++] & 0xff;
  }

  private void skip(int octets) throws IOException {
    for (int i = 0; i < octets; i++) {
      octet();
    }
  }

  private void skipText() throws IOException {
    while (octet() != 0) {}
  }

  private void header(int first) throws IOException {
    if ((first << 8 | octet()) != MAGIC || octet() != DEFLATE) {
      throw new ZipException("a member of the gzip does not begin as one");
    }
    int flags = octet();
    if ((flags & RESERVED) != 0) {
      throw new ZipException("a member of the gzip has flags that are not known");
    }
    skip(6);
    if ((flags & EXTRA) != 0) {
      skip(octet() | octet() << 8);
    }
    if ((flags & NAME) != 0) {
      skipText();
    }
    if ((flags & COMMENT) != 0) {
      skipText();
    }
    if ((flags & HEADER_CRC) != 0) {
      skip(2);
    }
    inflater.reset();
    inflater.setInput(buffer, at, end - at);
    crc.reset();
  }

  @Override
  public int read(ByteBuffer into) throws IOException {
    while (!ended && into.hasRemaining()) {
      int from = into.position();
      int n = inflate(into);
      if (n > 0) {
        crc.update(into.slice(from, n));
        return n;
      }
      if (inflater.finished()) {
        at = end - inflater.getRemaining();
        trailer();
        next();
      } else if (inflater.needsInput()) {
        if (!fill()) {
          throw new EOFException("the gzip ends in the middle of a member");
        }
        inflater.setInput(buffer, 0, end);
      } else {
        throw new ZipException("a member of the gzip needs a dictionary");
      }
    }
    return into.hasRemaining() ? -1 : 0;
  }

  private int inflate(ByteBuffer into) throws IOException {
    try {
      return inflater.inflate(into);
    } catch (DataFormatException e) {
      throw new ZipException(String.valueOf(e.getMessage()));
    }
  }

  private void trailer() throws IOException {
    if (number() != crc.getValue() || number() != (inflater.getBytesWritten() & 0xffffffffL)) {
      throw new ZipException("a member of the gzip has another checksum than it says");
    }
  }

  private long number() throws IOException {
    return octet() | octet() << 8 | octet() << 16 | (long) octet() << 24;
  }

  private void next() throws IOException {
    if (at == end && !fill()) {
      ended = true;
      return;
    }
    int first = octet();
    if (first != 0) {
      header(first);
      return;
    }
    while (at < end || fill()) {
      if (buffer[at++] != 0) {
        throw new ZipException("bytes follow the end of the gzip that are not zeros");
      }
    }
    ended = true;
  }

  @Override
  public void close() throws IOException {
    inflater.end();
    in.close();
  }
}
