package dev.platter.image.stream;

import static java.nio.ByteOrder.LITTLE_ENDIAN;

import dev.platter.image.BadImageException;
import dev.platter.image.stream.Places.Kind;
import dev.platter.image.stream.Places.Place;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Locale;
import java.util.regex.Pattern;

/**
 * VMware's disks in one file: {@code monolithicSparse}, tables and then grains of 64 KiB, and
 * {@code streamOptimized}, packed grains that say themselves where they belong. A descriptor that
 * names another file is refused, and so is every other kind: nothing is ever opened by a name in an
 * image.
 */
public final class Vmdk {
  public static final String MAGIC = "KDMV";

  static final String NAME = "VMDK";
  static final int SECTOR = 512;

  private static final int COMPRESSED = 1 << 16;
  private static final int MARKERS = 1 << 17;
  private static final int DEFLATE = 1;
  private static final int MOST_DESCRIPTOR = 64 << 10;
  private static final long MOST_SIZE = 64L << 40;
  private static final int PIECE = 64 << 10;
  private static final Pattern EXTENT =
      Pattern.compile("(?m)^\\s*(RW|RDONLY|NOACCESS)\\s+\\d+\\s+(\\w+)");
  private static final Pattern PARENT =
      Pattern.compile("(?im)^\\s*parentCID\\s*=\\s*\"?([0-9a-f]{1,16})");
  private static final Pattern TYPE =
      Pattern.compile("(?im)^\\s*createType\\s*=\\s*\"?([a-z0-9]{1,40})");

  /** The numbers of the header. Sectors are counted in longs, so that nothing overflows. */
  record Header(
      int version,
      int flags,
      long capacity,
      int grain,
      int tableEntries,
      long directory,
      long overhead) {
    long virtualSize() {
      return capacity * SECTOR;
    }

    /** How much of the disk one table describes. */
    long coverage() {
      return (long) tableEntries * grain;
    }
  }

  private Vmdk() {}

  public static StreamedFormat open(Forward file) throws IOException {
    ByteBuffer h = file.fully(0, SECTOR).order(LITTLE_ENDIAN);
    int version = h.getInt(4);
    Refused.unless(version >= 1 && version <= 3, NAME, 4, "version " + version);
    Refused.unless(h.getInt(73) == 0x0a0d200a, NAME, 73, "somebody changed its line ends");
    long capacity = h.getLong(12);
    Refused.unless(
        capacity >= 0 && capacity <= MOST_SIZE / SECTOR,
        NAME,
        12,
        "a size of %d sectors".formatted(capacity));
    long grain = h.getLong(20);
    Refused.unless(
        grain >= 8 && grain <= 4096 && Long.bitCount(grain) == 1, NAME, 20, "grains of " + grain);
    int entries = h.getInt(44);
    Refused.unless(entries >= 1 && entries <= 512, NAME, 44, entries + " entries in a table");
    long directory = h.getLong(56);
    var header =
        new Header(
            version,
            h.getInt(8),
            capacity,
            (int) grain * SECTOR,
            entries,
            directory,
            h.getLong(64));
    long descriptor = h.getLong(28);
    long length = h.getLong(36);
    boolean packed = (header.flags & COMPRESSED) != 0;
    int method = h.getShort(77);
    checkDescriptor(file, descriptor, length, packed);
    if (packed) {
      Refused.unless(
          (header.flags & MARKERS) != 0 && method == DEFLATE, NAME, 8, "packed in a way not known");
      return VmdkGrains.open(file, header);
    }
    return mapped(file, header);
  }

  private static void checkDescriptor(Forward file, long sector, long sectors, boolean packed)
      throws IOException {
    boolean bounded = sector >= 1 && sector < 4096 && sectors >= 1;
    Refused.unless(
        bounded && sectors <= MOST_DESCRIPTOR / SECTOR,
        NAME,
        28,
        "its descriptor is not in the file");
    ByteBuffer bytes = file.fully(sector * SECTOR, (int) sectors * SECTOR);
    String text = StandardCharsets.ISO_8859_1.decode(bytes).toString();
    long at = sector * SECTOR;
    var parent = PARENT.matcher(text);
    Refused.unless(
        parent.find() && parent.group(1).toLowerCase(Locale.ROOT).equals("ffffffff"),
        NAME,
        at,
        "it has a parent: an image must stand alone");
    Refused.unless(
        !text.toLowerCase(Locale.ROOT).contains("parentfilenamehint"),
        NAME,
        at,
        "it names a parent");
    String wanted = packed ? "streamOptimized" : "monolithicSparse";
    var type = TYPE.matcher(text);
    Refused.unless(
        type.find() && type.group(1).equals(wanted),
        NAME,
        at,
        "it does not say that it is " + wanted);
    var extent = EXTENT.matcher(text);
    Refused.unless(
        extent.find() && extent.group(2).equals("SPARSE") && !extent.find(),
        NAME,
        at,
        "it has other extents than this file");
  }

  private static StreamedFormat mapped(Forward file, Header header) throws IOException {
    Places places = directory(header);
    return new Mapped(
        file,
        header.virtualSize(),
        places,
        (place, bytes) -> table(header, places, place, bytes.order(LITTLE_ENDIAN)));
  }

  /** The directory, in pieces. */
  static Places directory(Header header) throws BadImageException {
    long tables = Math.ceilDiv(header.virtualSize(), header.coverage());
    Refused.unless(
        header.directory > 0 && header.directory < 1L << 40 && tables <= Places.MOST,
        NAME,
        56,
        "a directory at " + header.directory);
    var places = new Places();
    for (long first = 0; first < tables; first += PIECE / 4) {
      int count = (int) Math.min(PIECE / 4, tables - first);
      places.add(
          new Place(
              header.directory * SECTOR + first * 4,
              first * SECTOR, // Read back as the number of the table.
              count * 4,
              Kind.ROOT));
    }
    return places;
  }

  static void table(Header header, Places places, Place place, ByteBuffer bytes)
      throws BadImageException {
    for (int i = 0; i < bytes.limit() / 4; i++) {
      long sector = bytes.getInt(4 * i) & 0xffffffffL;
      if (sector == 0) {
        continue;
      }
      if (place.kind() == Kind.ROOT) {
        long guest = (place.guest() / SECTOR + i) * header.coverage();
        long grains = Math.ceilDiv(header.virtualSize() - guest, header.grain);
        int entries = (int) Math.min(header.tableEntries, grains);
        places.add(new Place(sector * SECTOR, guest, 4 * entries, Kind.TABLE));
      } else if (sector > 1) { // 1 stands for zeros.
        places.data(sector * SECTOR, place.guest() + (long) i * header.grain, header.grain);
      }
    }
  }
}
