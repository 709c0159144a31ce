package dev.platter.image.gzip;

import java.util.Arrays;

/**
 * A prefix code as a table: the next {@code width} bits find an entry, or a second table for the
 * rest of a long code. Accepts and refuses the same codes as zlib, whose decoder reads the same
 * bytes later: no code may be over-subscribed, and only a code of one bit may be incomplete.
 *
 * <p>An entry: bits 0 to 5 the number of bits to drop, 6 to 9 the number of extra bits that follow,
 * 16 to 30 the value, and the flags. The length stands lowest so that an entry can be the right
 * side of a shift as it is.
 */
final class HuffmanTable {
  static final int LITERAL = 1 << 31;

  /** Set in all entries that are neither literal, length nor distance. */
  static final int SPECIAL = 1 << 10;

  static final int SECOND = 1 << 11;
  static final int END = 1 << 12;

  static final int LITERAL_WIDTH = 11;
  static final int DISTANCE_WIDTH = 8;
  static final int CODE_LENGTH_WIDTH = 7;

  private static final int MAX_LENGTH = 15;
  private static final int EXTRA_SHIFT = 6;
  private static final int VALUE_SHIFT = 16;

  final int[] entries;
  private final int width;
  private final int[] symbols;
  private final boolean mayBeIncomplete;
  private final int[] counts = new int[MAX_LENGTH + 1];
  private final int[] next = new int[MAX_LENGTH + 1];
  private final byte[] deepest;

  private HuffmanTable(int width, int size, int[] symbols, boolean mayBeIncomplete) {
    this.width = width;
    this.symbols = symbols;
    this.mayBeIncomplete = mayBeIncomplete;
    this.entries = new int[size];
    this.deepest = new byte[1 << width];
  }

  // The sizes are those that zlib's "enough" computes for 288 and 32 symbols, rounded up.

  static HuffmanTable forLiterals() {
    return new HuffmanTable(LITERAL_WIDTH, 2400, LITERALS, true);
  }

  static HuffmanTable forDistances() {
    return new HuffmanTable(DISTANCE_WIDTH, 512, DISTANCES, true);
  }

  static HuffmanTable forCodeLengths() {
    return new HuffmanTable(CODE_LENGTH_WIDTH, 1 << CODE_LENGTH_WIDTH, CODE_LENGTHS, false);
  }

  static int drop(int entry) {
    return entry & 63;
  }

  static int extra(int entry) {
    return entry >>> EXTRA_SHIFT & 15;
  }

  static int value(int entry) {
    return entry >>> VALUE_SHIFT & 0x7fff;
  }

  /** The entry in the second table; {@code bits} come after those that found the first. */
  int second(int first, long bits) {
    return entries[value(first) + ((int) bits & ((1 << extra(first)) - 1))];
  }

  /** Makes the table for the code lengths of all symbols; false if they are no code. */
  boolean build(byte[] lengths, int from, int n) {
    Arrays.fill(counts, 0);
    int longest = 0;
    for (int i = from; i < from + n; i++) {
      counts[lengths[i]]++;
      longest = Math.max(longest, lengths[i]);
    }
    counts[0] = 0;
    int left = 1;
    int code = 0;
    for (int length = 1; length <= MAX_LENGTH; length++) {
      code = (code + counts[length - 1]) << 1;
      next[length] = code;
      left = 2 * left - counts[length];
      if (left < 0) {
        return false;
      }
    }
    if (left > 0) {
      if (!mayBeIncomplete || longest > 1) {
        return false;
      }
      Arrays.fill(entries, 0, 1 << width, SPECIAL | 1);
    }
    fill(lengths, from, n, longest);
    return true;
  }

  private void fill(byte[] lengths, int from, int n, int longest) {
    if (longest > width) {
      findDeepest(lengths, from, n);
    }
    int free = 1 << width;
    for (int symbol = 0; symbol < n; symbol++) {
      int length = lengths[from + symbol];
      if (length == 0) {
        continue;
      }
      int code = reversed(next[length]++, length);
      if (length <= width) {
        int entry = symbols[symbol] | length;
        for (int i = code; i < 1 << width; i += 1 << length) {
          entries[i] = entry;
        }
        continue;
      }
      int first = code & ((1 << width) - 1);
      int rest = deepest[first] - width;
      if (deepest[first] > 0) {
        entries[first] = SPECIAL | SECOND | free << VALUE_SHIFT | rest << EXTRA_SHIFT | width;
        free += 1 << rest;
        deepest[first] = 0;
      }
      int start = value(entries[first]);
      int size = 1 << extra(entries[first]);
      int entry = symbols[symbol] | length - width;
      for (int i = code >>> width; i < size; i += 1 << (length - width)) {
        entries[start + i] = entry;
      }
    }
  }

  /** How long the longest code is behind each entry of the first table. */
  private void findDeepest(byte[] lengths, int from, int n) {
    int[] codes = next.clone();
    for (int i = from; i < from + n; i++) {
      int length = lengths[i];
      if (length == 0) {
        continue;
      }
      int code = reversed(codes[length]++, length);
      if (length > width) {
        int first = code & ((1 << width) - 1);
        deepest[first] = (byte) Math.max(deepest[first], length);
      }
    }
  }

  private static int reversed(int code, int length) {
    return Integer.reverse(code) >>> (32 - length);
  }

  private static final int[] LITERALS = literals();
  private static final int[] DISTANCES = distances();
  private static final int[] CODE_LENGTHS = codeLengths();

  private static int[] literals() {
    int[] entries = new int[288];
    for (int i = 0; i < 256; i++) {
      entries[i] = LITERAL | i << VALUE_SHIFT;
    }
    entries[256] = SPECIAL | END;
    int base = 3;
    for (int i = 257; i < 285; i++) {
      int extra = i < 265 ? 0 : (i - 261) / 4;
      entries[i] = base << VALUE_SHIFT | extra << EXTRA_SHIFT;
      base += 1 << extra;
    }
    entries[285] = 258 << VALUE_SHIFT;
    entries[286] = SPECIAL;
    entries[287] = SPECIAL;
    return entries;
  }

  private static int[] distances() {
    int[] entries = new int[32];
    int base = 1;
    for (int i = 0; i < 30; i++) {
      int extra = i < 4 ? 0 : i / 2 - 1;
      entries[i] = base << VALUE_SHIFT | extra << EXTRA_SHIFT;
      base += 1 << extra;
    }
    entries[30] = SPECIAL;
    entries[31] = SPECIAL;
    return entries;
  }

  private static int[] codeLengths() {
    int[] entries = new int[19];
    for (int i = 0; i < entries.length; i++) {
      entries[i] = i << VALUE_SHIFT;
    }
    return entries;
  }
}
