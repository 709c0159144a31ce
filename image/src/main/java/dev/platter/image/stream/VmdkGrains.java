package dev.platter.image.stream;

import static java.nio.ByteOrder.LITTLE_ENDIAN;

import dev.platter.image.stream.Places.Kind;
import dev.platter.image.stream.Places.Place;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.zip.DataFormatException;
import java.util.zip.Inflater;

/**
 * A streamOptimized VMDK: markers, each followed by a packed grain or by a table. The tables tell
 * nothing that the grains do not, and are passed over. Ends with the marker for that; QEMU writes
 * none, but puts its tables to the front, and they tell which grain is the last.
 *
 * @param last where the last grain is; -1 if only the marker tells
 */
record VmdkGrains(Forward file, Vmdk.Header header, long last) implements StreamedFormat {
  private static final long AT_END = -1;
  private static final int END_OF_STREAM = 0;
  private static final int LAST_KIND = 3;

  static VmdkGrains open(Forward file, Vmdk.Header header) throws IOException {
    Refused.unless(
        header.overhead() >= 1 && header.overhead() < 1L << 20,
        Vmdk.NAME,
        64,
        "an overhead of " + header.overhead());
    return new VmdkGrains(
        file, header, header.directory() == AT_END ? -1 : lastGrain(file, header));
  }

  private static long lastGrain(Forward file, Vmdk.Header header) throws IOException {
    Places tables = Vmdk.directory(header);
    long found = 0;
    while (!tables.isEmpty()) {
      Place place = tables.take();
      Refused.unless(
          place.host() < header.overhead() * Vmdk.SECTOR, Vmdk.NAME, 56, "tables among the grains");
      ByteBuffer bytes = file.fully(place.host(), place.length()).order(LITTLE_ENDIAN);
      if (place.kind() == Kind.ROOT) {
        Vmdk.table(header, tables, place, bytes);
      } else {
        found = Math.max(found, lastGrain(bytes));
      }
    }
    return found;
  }

  private static long lastGrain(ByteBuffer table) {
    long last = 0;
    for (int i = 0; i < table.limit() / 4; i++) {
      last = Math.max(last, table.getInt(4 * i) & 0xffffffffL);
    }
    // 1 stands for zeros, and lies before all grains.
    return last * Vmdk.SECTOR;
  }

  @Override
  public long virtualSize() {
    return header.virtualSize();
  }

  @Override
  public void copyTo(Canvas canvas) throws IOException {
    var inflater = new Inflater();
    try {
      byte[] grain = new byte[header.grain()];
      long next = 0;
      for (long at = header.overhead() * Vmdk.SECTOR; at >= 0 && (last < 0 || at <= last); ) {
        ByteBuffer marker = file.fully(at, Vmdk.SECTOR).order(LITTLE_ENDIAN);
        long value = marker.getLong(0);
        int packed = marker.getInt(8);
        if (packed == 0) {
          at = after(at, value, marker.getInt(12));
          continue;
        }
        Refused.unless(
            value >= next && value < header.capacity() && value * Vmdk.SECTOR % header.grain() == 0,
            Vmdk.NAME,
            at,
            "a grain for sector " + value + " after that of " + next);
        Refused.unless(
            packed > 0 && packed <= 2 * header.grain() + 1024, Vmdk.NAME, at, packed + " bytes");
        long guest = value * Vmdk.SECTOR;
        next = value + 1;
        int length = (int) Math.min(header.grain(), virtualSize() - guest);
        unpack(inflater, file.fully(at + 12, packed), grain, length, at);
        canvas.write(guest, ByteBuffer.wrap(grain, 0, length));
        at += Math.ceilDiv(12 + packed, Vmdk.SECTOR) * (long) Vmdk.SECTOR;
      }
      canvas.flush();
    } finally {
      inflater.end();
    }
  }

  /** Where the marker is that follows one without a grain; -1 after the last. */
  private static long after(long at, long sectors, int kind) throws IOException {
    Refused.unless(
        kind >= END_OF_STREAM && kind <= LAST_KIND && sectors >= 0 && sectors <= 1L << 24,
        Vmdk.NAME,
        at,
        "a marker of kind %d for %d sectors".formatted(kind, sectors));
    return kind == END_OF_STREAM ? -1 : at + (1 + sectors) * Vmdk.SECTOR;
  }

  private static void unpack(
      Inflater inflater, ByteBuffer packed, byte[] grain, int length, long at) throws IOException {
    inflater.reset();
    inflater.setInput(packed);
    try {
      int done = 0;
      for (int n = 1; done < length && n > 0; done += n) {
        n = inflater.inflate(grain, done, grain.length - done);
      }
      Refused.unless(done >= length, Vmdk.NAME, at, "a grain that unpacks to " + done + " bytes");
    } catch (DataFormatException e) {
      throw Refused.at(Vmdk.NAME, at, "a grain that does not unpack");
    }
  }
}
