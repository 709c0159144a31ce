package dev.platter.image.gzip;

import static dev.platter.image.gzip.HuffmanTable.DISTANCE_WIDTH;
import static dev.platter.image.gzip.HuffmanTable.END;
import static dev.platter.image.gzip.HuffmanTable.LITERAL_WIDTH;
import static dev.platter.image.gzip.HuffmanTable.SECOND;
import static dev.platter.image.gzip.HuffmanTable.SPECIAL;
import static dev.platter.image.gzip.HuffmanTable.drop;
import static dev.platter.image.gzip.HuffmanTable.extra;
import static dev.platter.image.gzip.HuffmanTable.value;

import java.io.IOException;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * Deflate (RFC 1951), decoded in Java because {@link java.util.zip.Inflater} does not tell where a
 * block starts. Refuses what zlib refuses.
 *
 * <p>Plain bytes are appended to {@link #out}; whoever drives this takes them from there and calls
 * {@link #slide} before the next {@link #run}. The last 32 KiB stay, as matches refer to them.
 */
final class Inflate {
  static final int WINDOW = 32 << 10;

  /** No call of {@link #run} makes more than this. */
  static final int PIECE = 256 << 10;

  private static final int MAX_MATCH = 258;

  /** A match is copied in steps of eight bytes and may write some too many. */
  private static final int SLACK = MAX_MATCH + 8;

  private enum State {
    BETWEEN_BLOCKS,
    STORED,
    SYMBOLS,
    ENDED
  }

  final byte[] out = new byte[WINDOW + PIECE];

  /** Behind the last plain byte. */
  int position;

  private final BitInput in;
  private final BlockCodes codes = new BlockCodes();

  private State state = State.ENDED;
  private boolean last;
  private int stored;

  /** Where the member starts: a match may not refer to anything before. */
  private int floor;

  private int mark;
  private boolean @Nullable [] marks;

  Inflate(BitInput in) {
    this.in = in;
  }

  /** What follows is a deflate stream that may refer to {@code window}. */
  void start(byte[] window) {
    slide();
    System.arraycopy(window, 0, out, position, window.length);
    floor = position;
    position += window.length;
    state = State.BETWEEN_BLOCKS;
  }

  boolean betweenBlocks() {
    return state == State.BETWEEN_BLOCKS;
  }

  boolean ended() {
    return state == State.ENDED;
  }

  /**
   * From now on notes which of the 32 KiB before the present position are referred to: the last of
   * them is the last mark.
   */
  void markWindow(boolean[] used) {
    marks = used;
    mark = position;
  }

  /** The present window, all of it that belongs to this member. */
  byte[] window() {
    return Arrays.copyOfRange(out, Math.max(floor, position - WINDOW), position);
  }

  /** Makes room. */
  void slide() {
    int by = position - WINDOW;
    if (by > 0) {
      System.arraycopy(out, by, out, 0, WINDOW);
      position = WINDOW;
      floor = Math.max(0, floor - by);
      mark = Math.max(0, mark - by);
    }
  }

  void openBlock() throws IOException {
    last = in.take(1) != 0;
    switch (in.take(2)) {
      case 0 -> {
        in.take(in.count & 7);
        int size = in.take(16);
        if ((in.take(16) ^ 0xffff) != size) {
          throw refused("the length of a stored block contradicts itself");
        }
        in.align();
        stored = size;
        state = State.STORED;
      }
      case 1 -> {
        codes.setFixed();
        state = State.SYMBOLS;
      }
      case 2 -> {
        codes.read(in);
        state = State.SYMBOLS;
      }
      default -> throw refused("there is no deflate block of type 3");
    }
  }

  /** Decodes until the block ends or there is no more room in {@link #out}. */
  void run() throws IOException {
    int limit = out.length - SLACK;
    switch (state) {
      case STORED -> copyStored(limit);
      case SYMBOLS -> decode(limit);
      case BETWEEN_BLOCKS, ENDED -> throw new IllegalStateException("no block is open");
    }
    in.checkNotPastEnd();
  }

  private void copyStored(int limit) throws IOException {
    while (stored > 0 && position < limit) {
      if (in.end - in.position < BitInput.LOOK_AHEAD) {
        in.fill();
      }
      int n = Math.min(Math.min(stored, limit - position), in.end - in.position);
      System.arraycopy(in.buffer, in.position, out, position, n);
      in.position += n;
      position += n;
      stored -= n;
    }
    if (stored == 0) {
      endBlock();
    }
  }

  private void endBlock() {
    state = last ? State.ENDED : State.BETWEEN_BLOCKS;
  }

  private void decode(int limit) throws IOException {
    byte[] buffer = in.buffer;
    byte[] to = out;
    HuffmanTable literals = codes.literals;
    HuffmanTable distances = codes.distances;
    int[] literalEntries = literals.entries;
    int[] distanceEntries = distances.entries;
    int guard = Math.max(floor, mark);
    int at = in.position;
    int safe = in.end - BitInput.LOOK_AHEAD;
    long bits = in.bits;
    int count = in.count;
    int next = position;
    while (next < limit) {
      if (at > safe) {
        in.position = at;
        in.bits = bits;
        in.count = count;
        in.fill();
        at = in.position;
        safe = in.end - BitInput.LOOK_AHEAD;
      }
      bits |= BitInput.load(buffer, at) << count;
      at += (63 - count) >>> 3;
      count |= 56;

      // 56 bits are enough for three codes, and for a length with its distance (48).
      int entry = literalEntries[(int) bits & ((1 << LITERAL_WIDTH) - 1)];
      if (entry < 0) {
        bits >>>= entry;
        count -= drop(entry);
        to[next++] = (byte) (entry >>> 16);
        entry = literalEntries[(int) bits & ((1 << LITERAL_WIDTH) - 1)];
        if (entry < 0) {
          bits >>>= entry;
          count -= drop(entry);
          to[next++] = (byte) (entry >>> 16);
          entry = literalEntries[(int) bits & ((1 << LITERAL_WIDTH) - 1)];
          if (entry < 0) {
            bits >>>= entry;
            count -= drop(entry);
            to[next++] = (byte) (entry >>> 16);
            continue;
          }
        }
        bits |= BitInput.load(buffer, at) << count;
        at += (63 - count) >>> 3;
        count |= 56;
      }
      if ((entry & SPECIAL) != 0) {
        if ((entry & SECOND) != 0) {
          bits >>>= entry;
          count -= drop(entry);
          entry = literals.second(entry, bits);
          if (entry < 0) {
            bits >>>= entry;
            count -= drop(entry);
            to[next++] = (byte) (entry >>> 16);
            continue;
          }
        }
        if ((entry & SPECIAL) != 0) {
          in.position = at;
          in.bits = bits >>> entry;
          in.count = count - drop(entry);
          position = next;
          if ((entry & END) == 0) {
            throw refused("invalid literal or length");
          }
          endBlock();
          return;
        }
      }
      bits >>>= entry;
      count -= drop(entry);
      int more = extra(entry);
      int length = value(entry) + ((int) bits & ((1 << more) - 1));
      bits >>>= more;
      count -= more;

      entry = distanceEntries[(int) bits & ((1 << DISTANCE_WIDTH) - 1)];
      if ((entry & SPECIAL) != 0) {
        if ((entry & SECOND) != 0) {
          bits >>>= entry;
          count -= drop(entry);
          entry = distances.second(entry, bits);
        }
        if ((entry & SPECIAL) != 0) {
          throw refused("invalid distance");
        }
      }
      bits >>>= entry;
      count -= drop(entry);
      more = extra(entry);
      int distance = value(entry) + ((int) bits & ((1 << more) - 1));
      bits >>>= more;
      count -= more;

      int from = next - distance;
      if (from < guard) {
        refersBack(from, length);
      }
      int stop = next + length;
      if (distance >= 8) {
        do {
          BitInput.store(to, next, BitInput.load(to, from));
          next += 8;
          from += 8;
        } while (next < stop);
      } else if (distance == 1) {
        long repeated = (to[from] & 0xff) * 0x0101010101010101L;
        do {
          BitInput.store(to, next, repeated);
          next += 8;
        } while (next < stop);
      } else {
        while (next < stop) {
          to[next++] = to[from++];
        }
      }
      next = stop;
    }
    in.position = at;
    in.bits = bits;
    in.count = count;
    position = next;
  }

  private void refersBack(int from, int length) throws IOException {
    if (from < floor) {
      throw refused("a match refers to what is before the start");
    }
    if (marks != null) {
      int start = mark - WINDOW;
      Arrays.fill(marks, from - start, Math.min(from + length, mark) - start, true);
    }
  }

  private IOException refused(String why) {
    return Refused.at(in.bytePosition(), why);
  }
}
