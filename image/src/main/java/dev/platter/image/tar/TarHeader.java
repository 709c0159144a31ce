package dev.platter.image.tar;

import dev.platter.image.BadImageException;
import java.nio.charset.StandardCharsets;

/** The fields of one 512-byte header block that we look at, checksum already verified. */
record TarHeader(String name, char type, long size, String linkName) {
  static final int BLOCK = 512;

  static final int NAME = 0;
  static final int NAME_LENGTH = 100;
  static final int MODE = 100;
  static final int UID = 108;
  static final int GID = 116;
  static final int SIZE = 124;
  static final int SIZE_LENGTH = 12;
  static final int MTIME = 136;
  static final int CHECKSUM = 148;
  static final int CHECKSUM_LENGTH = 8;
  static final int TYPE = 156;
  static final int LINK = 157;
  static final int MAGIC = 257;
  static final int MAJOR = 329;
  static final int MINOR = 337;
  static final int NUMBER_LENGTH = 8;
  private static final int PREFIX = 345;
  private static final int PREFIX_LENGTH = 155;

  /** Larger than any disk we could take; keeps all later arithmetic far from overflow. */
  static final long MAX_SIZE = 1L << 50;

  static TarHeader parse(byte[] block, long offset) throws BadImageException {
    verifyChecksum(block, offset);
    String name = text(block, NAME, NAME_LENGTH);
    // Only POSIX ("ustar", NUL) has a prefix; GNU ("ustar", space) keeps times in the same place.
    if (text(block, MAGIC, 6).equals("ustar") && block[MAGIC + 5] == 0) {
      String prefix = text(block, PREFIX, PREFIX_LENGTH);
      name = prefix.isEmpty() ? name : prefix + "/" + name;
    }
    long size = number(block, SIZE, SIZE_LENGTH, offset);
    if (size > MAX_SIZE) {
      throw new BadImageException("tar entry at byte " + offset + " claims " + size + " bytes");
    }
    return new TarHeader(name, (char) (block[TYPE] & 0xff), size, text(block, LINK, NAME_LENGTH));
  }

  /** The sum of all bytes with the checksum field as spaces; old tars summed signed bytes. */
  private static void verifyChecksum(byte[] block, long offset) throws BadImageException {
    int unsigned = 0;
    int signed = 0;
    for (int i = 0; i < BLOCK; i++) {
      boolean inField = i >= CHECKSUM && i < CHECKSUM + CHECKSUM_LENGTH;
      unsigned += inField ? ' ' : block[i] & 0xff;
      signed += inField ? ' ' : block[i];
    }
    long stored = number(block, CHECKSUM, CHECKSUM_LENGTH, offset);
    if (stored != unsigned && stored != signed) {
      throw new BadImageException("no tar header at byte " + offset + ": its checksum is wrong");
    }
  }

  /** Octal digits between blanks, or, with the top bit set, a big-endian binary number. */
  static long number(byte[] block, int at, int length, long offset) throws BadImageException {
    if ((block[at] & 0x80) != 0) {
      long value = block[at] & 0x7f;
      for (int i = at + 1; i < at + length; i++) {
        if (value >>> 54 != 0) {
          throw badNumber(offset);
        }
        value = value << 8 | (block[i] & 0xff);
      }
      return value;
    }
    String digits = text(block, at, length).strip();
    long value = 0;
    for (int i = 0; i < digits.length(); i++) {
      char digit = digits.charAt(i);
      if (digit < '0' || digit > '7') {
        throw badNumber(offset);
      }
      value = value << 3 | (digit - '0');
    }
    return value;
  }

  private static BadImageException badNumber(long offset) {
    return new BadImageException("tar header at byte " + offset + " has a number out of range");
  }

  private static String text(byte[] block, int at, int length) {
    int end = at;
    while (end < at + length && block[end] != 0) {
      end++;
    }
    return new String(block, at, end - at, StandardCharsets.UTF_8);
  }
}
