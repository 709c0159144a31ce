package dev.platter.image.stream;

import static java.nio.charset.StandardCharsets.US_ASCII;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.Optional;
import java.util.Set;

/**
 * The disks of Virtual PC, Hyper-V and Azure. A dynamic one begins with a copy of its footer, which
 * leads to a header and a table of blocks; each block has a bitmap in front, which is of no use
 * where there is no parent. A fixed one is a raw disk with a footer: only its last 512 bytes tell.
 */
public final class Vhd {
  public static final int FOOTER = 512;
  public static final String COOKIE = "conectix";

  private static final String NAME = "VHD";
  private static final int HEADER = 1024;
  private static final int FIXED = 2;
  private static final int DYNAMIC = 3;
  private static final int MOST_BLOCK = 256 << 20;
  private static final int PIECE = 64 << 10;
  private static final long MOST_SIZE = 2040L << 30;

  /** Whoever made it, the size counts that QEMU goes by: these write it down, others round it. */
  private static final Set<String> EXACT =
      Set.of("win ", "qem2", "d2v ", "tap\0", "CTXS", "wa\0\0");

  private static final long LARGEST_GEOMETRY = 65535L * 16 * 255;

  private Vhd() {}

  /** By its first bytes; of a fixed one those are the guest's. */
  public static boolean isDynamic(ByteBuffer head) {
    return head.remaining() >= FOOTER && text(head, 0, 8).equals(COOKIE);
  }

  public static StreamedFormat open(Forward file) throws IOException {
    ByteBuffer footer = file.fully(0, FOOTER);
    Refused.unless(
        text(footer, 0, 8).equals(COOKIE) && checksumIsRight(footer, FOOTER, 64),
        NAME,
        0,
        "its footer is damaged");
    int type = footer.getInt(60);
    Refused.unless(type == DYNAMIC, NAME, 60, "of type " + type + ": an image must stand alone");
    long size = size(footer);
    long at = footer.getLong(16);
    Refused.unless(at >= FOOTER && at < 1L << 40, NAME, 16, "a header at " + at);
    ByteBuffer header = file.fully(at, HEADER);
    Refused.unless(
        text(header, 0, 8).equals("cxsparse") && checksumIsRight(header, HEADER, 36),
        NAME,
        at,
        "its header is damaged");
    long table = header.getLong(16);
    long entries = header.getInt(28) & 0xffffffffL;
    int block = header.getInt(32);
    boolean blocks = block >= 512 && block <= MOST_BLOCK && Integer.bitCount(block) == 1;
    Refused.unless(blocks, NAME, at + 32, "blocks of " + block + " bytes");
    Refused.unless(table >= at && table < 1L << 40, NAME, at + 16, "a table at " + table);
    long needed = Math.ceilDiv(size, block);
    Refused.unless(entries >= needed && needed <= Places.MOST, NAME, at + 28, entries + " entries");
    return new Mapped(file, size, places(file, table, block, needed), null);
  }

  private static Places places(Forward file, long table, int block, long blocks)
      throws IOException {
    int bitmap = Math.ceilDiv(block / 512 / 8, 512) * 512;
    var places = new Places();
    for (long first = 0; first < blocks; first += PIECE / 4) {
      int count = (int) Math.min(PIECE / 4, blocks - first);
      ByteBuffer piece = file.fully(table + first * 4, count * 4);
      for (int i = 0; i < count; i++) {
        int sector = piece.getInt(4 * i);
        if (sector != -1) {
          places.data((sector & 0xffffffffL) * 512 + bitmap, (first + i) * block, block);
        }
      }
    }
    return places;
  }

  /**
   * The size of the disk if a file of this length is a fixed VHD, by its last bytes.
   *
   * @param last 512 bytes
   */
  public static Optional<Long> fixedSize(ByteBuffer last, long length) throws IOException {
    boolean fixed =
        last.remaining() == FOOTER
            && text(last, 0, 8).equals(COOKIE)
            && checksumIsRight(last, FOOTER, 64)
            && last.getInt(60) == FIXED
            && last.getLong(48) == length - FOOTER;
    return fixed ? Optional.of(Math.min(size(last), length - FOOTER)) : Optional.empty();
  }

  private static long size(ByteBuffer footer) throws IOException {
    long geometry =
        (long) (footer.getShort(56) & 0xffff) * (footer.get(58) & 0xff) * (footer.get(59) & 0xff);
    boolean exact = EXACT.contains(text(footer, 28, 4)) || geometry == LARGEST_GEOMETRY;
    long sectors = exact ? footer.getLong(48) / 512 : geometry;
    Refused.unless(
        sectors >= 0 && sectors <= MOST_SIZE / 512,
        NAME,
        48,
        "a size of %d sectors".formatted(sectors));
    return sectors * 512;
  }

  private static String text(ByteBuffer bytes, int at, int length) {
    byte[] text = new byte[length];
    bytes.get(at, text);
    return new String(text, US_ASCII);
  }

  private static boolean checksumIsRight(ByteBuffer bytes, int length, int field) {
    int sum = 0;
    for (int i = 0; i < length; i++) {
      sum += i >= field && i < field + 4 ? 0 : bytes.get(i) & 0xff;
    }
    return bytes.getInt(field) == ~sum;
  }
}
