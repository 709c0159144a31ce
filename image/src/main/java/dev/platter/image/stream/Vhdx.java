package dev.platter.image.stream;

import static java.nio.ByteOrder.LITTLE_ENDIAN;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.HashMap;
import java.util.Map;
import java.util.TreeMap;
import java.util.UUID;
import java.util.zip.CRC32C;
import org.jspecify.annotations.Nullable;

/**
 * Hyper-V's disks: two headers, two tables of regions, a log, and the regions with metadata and the
 * table of blocks. Refused: a log that has still to be replayed, and what has a parent.
 */
public final class Vhdx {
  public static final String SIGNATURE = "vhdxfile";

  private static final String NAME = "VHDX";
  private static final int K64 = 64 << 10;
  private static final int MIB = 1 << 20;
  private static final int HEADER = 4096;
  private static final int HEAD = 0x64616568; // "head"
  private static final int REGIONS = 0x69676572; // "regi"
  private static final long METADATA = 0x617461646174656dL; // "metadata"

  private static final UUID BAT_REGION = UUID.fromString("2dc27766-f623-4200-9d64-115e9bfd4a08");
  private static final UUID META_REGION = UUID.fromString("8b7ca206-4790-4b9a-b8fe-575f050f886e");
  private static final UUID PARAMETERS = UUID.fromString("caa16737-fa36-4d43-b3b6-33f0aa44e76b");
  private static final UUID SIZE = UUID.fromString("2fa54224-cd1b-4876-b211-5dbed83bf4b8");
  private static final UUID SECTOR = UUID.fromString("8141bf1d-a96f-4709-ba47-f233a8faab5f");

  /** The longest table of blocks: 8 bytes each, in memory until the metadata are known. */
  private static final int MOST_BAT = 64 * MIB;

  private static final long MOST_SIZE = 64L << 40;
  private static final int PRESENT = 6;
  private static final int PARTLY = 7;

  private record Region(long at, int length) {}

  /** What the metadata say. */
  private record Shape(long size, int block, int sector) {}

  private Vhdx() {}

  public static StreamedFormat open(Forward file) throws IOException {
    checkLog(file);
    Map<UUID, Region> regions = regions(file);
    Region bat = regions.get(BAT_REGION);
    Region meta = regions.get(META_REGION);
    if (bat == null || meta == null) {
      throw Refused.at(NAME, 3 * K64, "the region of its table or of its metadata is missing");
    }
    Refused.unless(bat.length <= MOST_BAT, NAME, bat.at, "a table of " + bat.length + " bytes");
    // In the order of the file, whichever comes first.
    byte[] table = bat.at < meta.at ? read(file, bat) : null;
    Shape shape = shape(file, meta);
    if (table == null) {
      table = read(file, bat);
    }
    return new Mapped(
        file, shape.size, places(ByteBuffer.wrap(table).order(LITTLE_ENDIAN), shape, bat.at), null);
  }

  private static void checkLog(Forward file) throws IOException {
    long newest = -1;
    boolean log = false;
    for (int at = K64; at <= 2 * K64; at += K64) {
      ByteBuffer h = file.fully(at, HEADER).order(LITTLE_ENDIAN);
      if (h.getInt(0) == HEAD && checksumIsRight(h) && h.getLong(8) >= newest) {
        newest = h.getLong(8);
        log = h.getLong(48) != 0 || h.getLong(56) != 0;
        Refused.unless(h.getShort(66) == 1, NAME, at + 66, "version " + h.getShort(66));
      }
    }
    Refused.unless(newest >= 0, NAME, K64, "both headers are damaged");
    Refused.unless(
        !log,
        NAME,
        K64 + 48,
        "it has changes in its log; whoever had it open must close it (or qemu-img check -r all)");
  }

  private static Map<UUID, Region> regions(Forward file) throws IOException {
    @Nullable Map<UUID, Region> found = null;
    for (int at = 3 * K64; at <= 4 * K64; at += K64) {
      ByteBuffer h = file.fully(at, K64).order(LITTLE_ENDIAN);
      if (found == null && h.getInt(0) == REGIONS && checksumIsRight(h)) {
        found = entries(h, at);
      }
    }
    if (found == null) {
      throw Refused.at(NAME, 3 * K64, "both tables of regions are damaged");
    }
    return found;
  }

  private static Map<UUID, Region> entries(ByteBuffer h, int at) throws IOException {
    var found = new TreeMap<UUID, Region>();
    int count = h.getInt(8);
    Refused.unless(count >= 0 && count <= 2047, NAME, at + 8, count + " regions");
    for (int e = 16; e < 16 + 32 * count; e += 32) {
      UUID id = uuid(h, e);
      boolean known = id.equals(BAT_REGION) || id.equals(META_REGION);
      long offset = h.getLong(e + 16);
      int length = h.getInt(e + 24);
      Refused.unless(
          known || (h.getInt(e + 28) & 1) == 0, NAME, at + e, "a region nobody told us of: " + id);
      Refused.unless(
          offset >= MIB && offset < 1L << 50 && offset % MIB == 0 && length > 0,
          NAME,
          at + e,
          "a region at " + offset);
      found.put(id, new Region(offset, length));
    }
    return found;
  }

  private static byte[] read(Forward file, Region region) throws IOException {
    byte[] bytes = new byte[region.length];
    for (int done = 0; done < bytes.length; done += MIB) {
      int n = Math.min(MIB, bytes.length - done);
      file.fully(region.at + done, n).get(bytes, done, n);
    }
    return bytes;
  }

  private static Shape shape(Forward file, Region region) throws IOException {
    int shown = Math.min(region.length, Forward.MOST);
    ByteBuffer h = file.fully(region.at, shown).order(LITTLE_ENDIAN);
    Refused.unless(
        shown >= K64 && h.getLong(0) == METADATA, NAME, region.at, "no metadata are there");
    int count = h.getShort(10) & 0xffff;
    Refused.unless(count <= 2047, NAME, region.at + 10, count + " items");
    var items = new HashMap<UUID, Integer>();
    for (int e = 32; e < 32 + 32 * count; e += 32) {
      int offset = h.getInt(e + 16);
      if (offset >= K64 && offset <= shown - 8) {
        items.put(uuid(h, e), offset);
      }
    }
    int parameters = item(items, PARAMETERS, region);
    int block = h.getInt(parameters);
    Refused.unless(
        (h.getInt(parameters + 4) & 2) == 0,
        NAME,
        region.at + parameters,
        "it has a parent: an image must stand alone");
    Refused.unless(
        block >= MIB && block <= 256 * MIB && Integer.bitCount(block) == 1,
        NAME,
        region.at + parameters,
        "blocks of " + block + " bytes");
    int sector = h.getInt(item(items, SECTOR, region));
    Refused.unless(sector == 512 || sector == 4096, NAME, region.at, "sectors of " + sector);
    long size = h.getLong(item(items, SIZE, region));
    Refused.unless(
        size >= 0 && size <= MOST_SIZE && size % sector == 0,
        NAME,
        region.at,
        "a size of " + Long.toUnsignedString(size));
    return new Shape(size, block, sector);
  }

  private static int item(Map<UUID, Integer> items, UUID id, Region region) throws IOException {
    Integer offset = items.get(id);
    if (offset == null) {
      throw Refused.at(NAME, region.at, "its metadata lack " + id);
    }
    return offset;
  }

  private static Places places(ByteBuffer bat, Shape shape, long at) throws IOException {
    long blocks = Math.ceilDiv(shape.size, shape.block);
    // After so many blocks comes the entry of a bitmap, which only parents need.
    long ratio = (1L << 23) * shape.sector / shape.block;
    var places = new Places();
    for (long n = 0; n < blocks; n++) {
      long entry = n + n / ratio;
      Refused.unless(entry < bat.capacity() / 8, NAME, at, "its table is too short for the disk");
      long value = bat.getLong((int) entry * 8);
      int state = (int) value & 7;
      Refused.unless(
          state != PARTLY && state != 4 && state != 5,
          NAME,
          at + entry * 8,
          "block state " + state);
      if (state == PRESENT) {
        long host = value >>> 20 << 20;
        Refused.unless(host >= MIB && host < 1L << 50, NAME, at + entry * 8, "a block at " + host);
        places.data(host, n * shape.block, shape.block);
      }
    }
    return places;
  }

  private static UUID uuid(ByteBuffer h, int at) {
    long first = h.getInt(at) & 0xffffffffL;
    long second = h.getShort(at + 4) & 0xffffL;
    long third = h.getShort(at + 6) & 0xffffL;
    return new UUID(first << 32 | second << 16 | third, Long.reverseBytes(h.getLong(at + 8)));
  }

  private static boolean checksumIsRight(ByteBuffer h) {
    var crc = new CRC32C();
    crc.update(h.slice(0, 4));
    crc.update(new byte[4]);
    crc.update(h.slice(8, h.limit() - 8));
    return (int) crc.getValue() == h.getInt(4);
  }
}
