package dev.platter.image.stream;

import dev.platter.image.BadImageException;
import java.util.Arrays;

/**
 * What is where in a file and is still to come, the nearest first. Sixteen bytes for each stretch
 * (neighbours are joined), at most {@link #MOST} of them: 128 MiB.
 */
public final class Places {
  /** What lies at a place. */
  public enum Kind {
    /** Bytes of the disk. */
    DATA(0),
    /** Bytes of the disk, packed. */
    PACKED(1),
    /** A table of places. */
    TABLE(2),
    /** A table of tables. */
    ROOT(3);

    private final int bits;

    Kind(int bits) {
      this.bits = bits;
    }
  }

  /**
   * @param guest where in the disk; for tables, where in the disk that begins which they describe
   */
  public record Place(long host, long guest, int length, Kind kind) {}

  public static final int MOST = 8 << 20;

  /** Data are cut into stretches of at most this. */
  private static final int LONGEST = 16 << 20;

  private static final int LENGTH_BITS = 25;
  private static final int KIND_BITS = 2;
  private static final Kind[] KINDS = {Kind.DATA, Kind.PACKED, Kind.TABLE, Kind.ROOT};

  private long[] hosts = new long[1024];
  private long[] whats = new long[1024];
  private int count;

  // The stretch of data that is being joined, not yet in the heap.
  private long host;
  private long guest;
  private long length;

  /** Data of any length. */
  public void data(long atHost, long atGuest, long bytes) throws BadImageException {
    if (length > 0 && host + length == atHost && guest + length == atGuest) {
      length += bytes;
    } else {
      settle();
      host = atHost;
      guest = atGuest;
      length = bytes;
    }
  }

  public void add(Place place) throws BadImageException {
    settle();
    push(place);
  }

  private void settle() throws BadImageException {
    for (long done = 0; done < length; done += LONGEST) {
      int part = (int) Math.min(LONGEST, length - done);
      push(new Place(host + done, guest + done, part, Kind.DATA));
    }
    length = 0;
  }

  private void push(Place place) throws BadImageException {
    if (count == MOST) {
      throw new BadImageException(
          "the disk is in more than %d pieces, which is over the limit".formatted(MOST));
    }
    if (count == hosts.length) {
      hosts = Arrays.copyOf(hosts, 2 * count);
      whats = Arrays.copyOf(whats, 2 * count);
    }
    int at = count++;
    long what =
        (place.guest() >> 9) << (LENGTH_BITS + KIND_BITS)
            | (long) place.kind().bits << LENGTH_BITS
            | place.length();
    while (at > 0 && hosts[(at - 1) / 2] > place.host()) {
      set(at, (at - 1) / 2);
      at = (at - 1) / 2;
    }
    hosts[at] = place.host();
    whats[at] = what;
  }

  private void set(int to, int from) {
    hosts[to] = hosts[from];
    whats[to] = whats[from];
  }

  public boolean isEmpty() throws BadImageException {
    settle();
    return count == 0;
  }

  /** Takes the first one in the file. */
  public Place take() throws BadImageException {
    settle();
    var first = new Place(hosts[0], guestOf(whats[0]), lengthOf(whats[0]), kindOf(whats[0]));
    long sinking = hosts[--count];
    long what = whats[count];
    int at = 0;
    for (int child = 1; child < count; child = 2 * at + 1) {
      if (child + 1 < count && hosts[child + 1] < hosts[child]) {
        child++;
      }
      if (hosts[child] >= sinking) {
        break;
      }
      set(at, child);
      at = child;
    }
    hosts[at] = sinking;
    whats[at] = what;
    return first;
  }

  private static long guestOf(long what) {
    return what >>> (LENGTH_BITS + KIND_BITS) << 9;
  }

  private static int lengthOf(long what) {
    return (int) (what & ((1 << LENGTH_BITS) - 1));
  }

  private static Kind kindOf(long what) {
    return KINDS[(int) (what >>> LENGTH_BITS) & ((1 << KIND_BITS) - 1)];
  }
}
