package dev.platter.image.qcow2;

import dev.platter.image.BadImageException;
import dev.platter.image.ByteSource;
import dev.platter.image.stream.Canvas;
import dev.platter.image.stream.Forward;
import dev.platter.image.stream.OutOfOrder;
import dev.platter.image.stream.Places;
import dev.platter.image.stream.Places.Kind;
import dev.platter.image.stream.Places.Place;
import dev.platter.image.stream.StreamedFormat;
import java.io.IOException;
import java.nio.ByteBuffer;

/**
 * Decodes a qcow2 while its file passes by. Images that qemu-img convert wrote, and ours, have each
 * table before the data that it describes; what comes before its table is kept in memory as far as
 * {@link EarlyBytes} has room, and an image that needs more is refused as out of order. Every
 * cluster of the disk is written once, and every byte of the file is used for one of them.
 *
 * <p>As with {@link Qcow2Reader}, what leads to another file is refused by the header alone.
 */
public final class Qcow2Stream implements StreamedFormat {
  private static final int PIECE = Tables.PIECE;
  private static final long L1_RESERVED = 0x7f000000000001ffL;
  private static final long L1_OFFSET = 0x00fffffffffffe00L;

  private final Forward file;
  private final Header header;
  private final L2Entry l2Entry;
  private final Places places = new Places();
  private final EarlyBytes early = new EarlyBytes();

  /** What of the file was used for something, or kept. */
  private long passed;

  private long lastHost = -1;
  private boolean lastPacked;

  private Qcow2Stream(Forward file, Header header, long length) {
    this.file = file;
    this.header = header;
    this.l2Entry = new L2Entry(header, length);
  }

  /**
   * @param length of the file, or -1
   */
  public static Qcow2Stream open(Forward file, long length, Limits limits) throws IOException {
    int clusterBits = file.fully(0, 24).getInt(20);
    long most = limits.maxFileClusters() << Math.clamp(clusterBits, 9, 21);
    long bound = length < 0 ? most : length;
    Header header = Header.read(head(file, bound), limits);
    var stream = new Qcow2Stream(file, header, bound);
    stream.passed = header.clusterSize();
    if (file.isStream() && header.l1Offset() - stream.passed > EarlyBytes.MOST) {
      throw new OutOfOrder("the L1 table of the qcow2 comes after its data");
    }
    int entries = header.usedL1Entries();
    for (int first = 0; first < entries; first += PIECE / 8) {
      int count = Math.min(PIECE / 8, entries - first);
      long guest = first * 512L; // read back as the number of the entry
      stream.places.add(new Place(header.l1Offset() + first * 8L, guest, count * 8, Kind.ROOT));
    }
    return stream;
  }

  /** The first cluster: all that a header may look at. */
  private static ByteSource head(Forward file, long size) {
    return new ByteSource() {
      @Override
      public long size() {
        return size;
      }

      @Override
      public int read(ByteBuffer into, long position) throws IOException {
        ByteBuffer bytes = file.at(0, (int) Math.min(Forward.MOST, position + into.remaining()));
        int n = bytes.remaining() - (int) position;
        if (n <= 0) {
          return -1;
        }
        into.put(bytes.position((int) position));
        return n;
      }
    };
  }

  @Override
  public long virtualSize() {
    return header.virtualSize();
  }

  @Override
  public void copyTo(Canvas canvas) throws IOException {
    try (var packed = new PackedClusters(header, canvas)) {
      while (!places.isEmpty()) {
        Place place = places.take();
        checkUnused(place);
        if (place.host() < passed && !isInSight(place)) {
          takeEarly(place, packed, canvas);
        } else {
          keepUntil(place.host());
          take(place, packed, canvas);
        }
      }
      packed.finish();
    }
    canvas.flush();
  }

  /** The bounds of what is packed reach into what comes next. */
  private boolean isInSight(Place place) {
    return lastPacked && place.host() > lastHost;
  }

  private void checkUnused(Place place) throws BadImageException {
    int shortest = lastPacked ? header.compression().shortestStream(header.clusterSize()) : 1;
    if (lastHost >= 0 && place.host() >= lastHost && place.host() < lastHost + shortest) {
      throw Refused.at(place.host(), "the cluster is used twice");
    }
  }

  private int shortest(Place place) {
    return place.kind() == Kind.PACKED
        ? header.compression().shortestStream(header.clusterSize())
        : place.length();
  }

  private void take(Place place, PackedClusters packed, Canvas canvas) throws IOException {
    switch (place.kind()) {
      case ROOT -> l1(place, file.fully(place.host(), place.length()));
      case TABLE -> l2(place, file.fully(place.host(), place.length()));
      case DATA -> {
        for (int done = 0; done < place.length(); done += PIECE) {
          int n = Math.min(PIECE, place.length() - done);
          // What is past the end of the file reads as zeros.
          ByteBuffer bytes = file.at(place.host() + done, n);
          if (bytes.remaining() < n) {
            refuseCut(place, file.seen());
          }
          canvas.write(place.guest() + done, bytes);
        }
      }
      case PACKED -> packed.add(place.guest(), file.at(place.host(), place.length()), place.host());
    }
    passed = Math.max(passed, place.host() + surelyUsed(place));
    lastHost = place.host();
    lastPacked = place.kind() == Kind.PACKED;
  }

  /**
   * What is packed ends somewhere in the last sector of its bound. What is behind that may be the
   * start of something whose table is still to come.
   */
  private int surelyUsed(Place place) {
    return place.kind() == Kind.PACKED
        ? Math.max(shortest(place), place.length() - 511)
        : place.length();
  }

  /** Of the last cluster of a file a part may be missing; where all of it is, the file was cut. */
  private void refuseCut(Place place, long end) throws BadImageException {
    long last = (place.host() + place.length() - 1) & -header.clusterSize();
    if (last >= end) {
      throw Refused.at(last, "the file ends at 0x%x, before this cluster".formatted(end));
    }
  }

  private void takeEarly(Place place, PackedClusters packed, Canvas canvas) throws IOException {
    ByteBuffer bytes = early.take(place.host(), place.length(), shortest(place));
    switch (place.kind()) {
      case ROOT -> l1(place, bytes);
      case TABLE -> l2(place, bytes);
      case DATA -> canvas.write(place.guest(), bytes);
      case PACKED -> packed.add(place.guest(), bytes, place.host());
    }
  }

  /** What nothing is known of yet may turn out to be data. */
  private void keepUntil(long host) throws IOException {
    while (passed < host) {
      int n = (int) Math.min(PIECE, host - passed);
      ByteBuffer bytes = file.at(passed, n);
      if (!bytes.hasRemaining()) {
        throw Refused.at(passed, "the file ends before what is at 0x%x".formatted(host));
      }
      passed += bytes.remaining();
      early.keep(passed - bytes.remaining(), bytes);
    }
  }

  private void l1(Place place, ByteBuffer bytes) throws IOException {
    for (int i = 0; i < bytes.limit() / 8; i++) {
      long at = place.host() + 8L * i;
      long entry = bytes.getLong(8 * i);
      if ((entry & L1_RESERVED) != 0) {
        throw Refused.at(at, "reserved bits are set in L1 entry 0x%016x".formatted(entry));
      }
      long table = entry & L1_OFFSET;
      if ((table & (header.clusterSize() - 1)) != 0) {
        throw Refused.at(at, "L2 table 0x%x is not aligned".formatted(table));
      }
      if (table != 0) {
        long guest = (place.guest() / 512 + i) * header.l2Coverage();
        long clusters = Math.ceilDiv(header.virtualSize() - guest, header.clusterSize());
        int length = (int) Math.min(header.l2Entries(), clusters) * header.l2EntrySize();
        places.add(new Place(table, guest, length, Kind.TABLE));
      }
    }
  }

  private void l2(Place place, ByteBuffer bytes) throws IOException {
    int size = header.l2EntrySize();
    for (int i = 0; i < bytes.limit() / size; i++) {
      long entry = bytes.getLong(size * i);
      long bitmap = header.extendedL2() ? bytes.getLong(size * i + 8) : 0;
      if (entry != 0 || bitmap != 0) {
        l2Entry.check(entry, bitmap, place.host() + (long) size * i);
        add(entry, bitmap, place.guest() + ((long) i << header.clusterBits()));
      }
    }
  }

  private void add(long entry, long bitmap, long guest) throws BadImageException {
    if (L2Entry.isCompressed(entry)) {
      int bound = l2Entry.compressedBound(entry);
      places.add(new Place(l2Entry.compressedHost(entry), guest, bound, Kind.PACKED));
      return;
    }
    int data = l2Entry.dataBits(entry, bitmap);
    long host = L2Entry.host(entry);
    if (data == L2Entry.ALL) {
      places.data(host, guest, header.clusterSize());
      return;
    }
    int size = header.clusterSize() / L2Entry.SUBCLUSTERS;
    for (int i = 0; i < L2Entry.SUBCLUSTERS; i++) {
      if ((data >>> i & 1) != 0) {
        places.data(host + (long) i * size, guest + (long) i * size, size);
      }
    }
  }
}
