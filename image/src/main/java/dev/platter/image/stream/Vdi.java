package dev.platter.image.stream;

import static java.nio.ByteOrder.LITTLE_ENDIAN;

import java.io.IOException;
import java.nio.ByteBuffer;

/** VirtualBox's disks: a header, one table of blocks of 1 MiB, the blocks. Stands alone only. */
public final class Vdi {
  public static final int SIGNATURE_AT = 64;
  public static final int SIGNATURE = 0xbeda107f;

  private static final String NAME = "VDI";
  private static final int HEADER = 512;
  private static final int VERSION = 0x00010001;
  private static final int BLOCK = 1 << 20;
  private static final int PIECE = 64 << 10;

  private Vdi() {}

  public static StreamedFormat open(Forward file) throws IOException {
    ByteBuffer h = file.fully(0, HEADER).order(LITTLE_ENDIAN);
    Refused.unless(h.getInt(SIGNATURE_AT) == SIGNATURE, NAME, SIGNATURE_AT, "not its signature");
    Refused.unless(h.getInt(68) == VERSION, NAME, 68, "a version other than 1.1");
    int type = h.getInt(76);
    Refused.unless(type == 1 || type == 2, NAME, 76, "of type " + type + ", not dynamic or static");
    Refused.unless(h.getInt(360) == 512, NAME, 360, "sectors of other than 512 bytes");
    Refused.unless(h.getInt(376) == BLOCK, NAME, 376, "blocks of other than 1 MiB");
    for (int at = 424; at < 456; at += 8) {
      Refused.unless(h.getLong(at) == 0, NAME, at, "it has a parent: an image must stand alone");
    }
    long size = h.getLong(368);
    Refused.unless(size >= 0 && size <= (long) Places.MOST * BLOCK, NAME, 368, "a size of " + size);
    long blocks = h.getInt(384) & 0xffffffffL;
    Refused.unless(blocks >= Math.ceilDiv(size, BLOCK), NAME, 384, "a table that is too short");
    long table = h.getInt(340) & 0xffffffffL;
    long data = h.getInt(344) & 0xffffffffL;
    Refused.unless(table >= HEADER && data >= HEADER, NAME, 340, "tables in the header");
    return new Mapped(
        file,
        Math.ceilDiv(size, 512) * 512,
        places(file, table, data, Math.ceilDiv(size, BLOCK)),
        null);
  }

  private static Places places(Forward file, long table, long data, long blocks)
      throws IOException {
    var places = new Places();
    for (long first = 0; first < blocks; first += PIECE / 4) {
      int count = (int) Math.min(PIECE / 4, blocks - first);
      ByteBuffer piece = file.fully(table + first * 4, count * 4).order(LITTLE_ENDIAN);
      for (int i = 0; i < count; i++) {
        int block = piece.getInt(4 * i);
        // -1 was never written, -2 was discarded.
        if (block >= 0) {
          places.data(data + (long) block * BLOCK, (first + i) * BLOCK, BLOCK);
        } else {
          Refused.unless(block >= -2, NAME, table + (first + i) * 4, "block " + block);
        }
      }
    }
    return places;
  }
}
