package dev.platter.image.gzip;

import java.io.IOException;
import java.util.zip.CRC32;

/** What stands before the deflate stream of a member (RFC 1952). Nothing in it is of use here. */
final class GzipHeader {
  private static final int DEFLATE = 8;
  private static final int CHECKSUM = 1 << 1;
  private static final int EXTRA = 1 << 2;
  private static final int NAME = 1 << 3;
  private static final int COMMENT = 1 << 4;
  private static final int RESERVED = 0xe0;

  /** Longer names and comments are legal and found nowhere. */
  private static final int MAX_TEXT = 64 << 10;

  private final BitInput in;
  private final CRC32 crc = new CRC32();

  private GzipHeader(BitInput in) {
    this.in = in;
  }

  static void skip(BitInput in) throws IOException {
    new GzipHeader(in).skip();
  }

  private void skip() throws IOException {
    if (next() != 0x1f || next() != 0x8b) {
      throw refused("no gzip member starts here");
    }
    if (next() != DEFLATE) {
      throw refused("the compression is not deflate");
    }
    int flags = next();
    if ((flags & RESERVED) != 0) {
      throw refused("reserved flags are set");
    }
    for (int i = 0; i < 6; i++) { // time, level, system
      next();
    }
    if ((flags & EXTRA) != 0) {
      int length = next() | next() << 8;
      for (int i = 0; i < length; i++) {
        next();
      }
    }
    if ((flags & NAME) != 0) {
      skipText();
    }
    if ((flags & COMMENT) != 0) {
      skipText();
    }
    if ((flags & CHECKSUM) != 0) {
      int expected = (int) crc.getValue() & 0xffff;
      if ((next() | next() << 8) != expected) {
        throw refused("the checksum of the header is wrong");
      }
    }
  }

  private void skipText() throws IOException {
    for (int i = 0; next() != 0; i++) {
      if (i == MAX_TEXT) {
        throw refused("a name or comment of more than 64 KiB");
      }
    }
  }

  private int next() throws IOException {
    int value = in.take(8);
    crc.update(value);
    return value;
  }

  private IOException refused(String why) {
    return Refused.at(in.bytePosition(), why);
  }
}
