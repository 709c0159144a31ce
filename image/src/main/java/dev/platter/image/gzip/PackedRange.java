package dev.platter.image.gzip;

/** Bytes of the gzip file from {@code start} up to but without {@code end}. */
public record PackedRange(long start, long end) {
  public int length() {
    return Math.toIntExact(end - start);
  }
}
