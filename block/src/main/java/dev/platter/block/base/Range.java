package dev.platter.block.base;

/**
 * Bytes from a position up to another, which is not included.
 *
 * @param from not negative
 * @param to after {@code from}
 */
record Range(long from, long to) {
  Range {
    if (from < 0 || to <= from) {
      throw new IllegalArgumentException("bytes " + from + " to " + to);
    }
  }

  long length() {
    return to - from;
  }
}
