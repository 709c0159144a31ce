package dev.platter.image.ext4;

/** A bitmap as ext4 has it: the lowest bit of a byte comes first. */
final class Bits {
  private Bits() {}

  static boolean get(byte[] bits, int at) {
    return ((bits[at >> 3] >> (at & 7)) & 1) != 0;
  }

  static void set(byte[] bits, int at) {
    bits[at >> 3] |= (byte) (1 << (at & 7));
  }

  static void set(byte[] bits, int from, int to) {
    for (int at = from; at < to; at++) {
      set(bits, at);
    }
  }

  static void clear(byte[] bits, int at) {
    bits[at >> 3] &= (byte) ~(1 << (at & 7));
  }

  /** The first clear bit at or after {@code from}; -1 if there is none before {@code to}. */
  static int nextClear(byte[] bits, int from, int to) {
    for (int at = from; at < to; ) {
      if ((at & 7) == 0 && bits[at >> 3] == -1) {
        at += 8;
      } else if (get(bits, at)) {
        at++;
      } else {
        return at;
      }
    }
    return -1;
  }

  static int countClear(byte[] bits, int to) {
    int clear = 0;
    for (int at = 0; at < to; at++) {
      clear += get(bits, at) ? 0 : 1;
    }
    return clear;
  }
}
