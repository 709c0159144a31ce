package dev.platter.model;

import java.math.BigDecimal;
import java.util.Locale;
import java.util.Map;
import java.util.regex.Pattern;

/**
 * A number of bytes, written as a Kubernetes quantity: {@code 512}, {@code 10M}, {@code 1Gi},
 * {@code 1.5Gi}.
 */
public record ByteSize(long bytes) implements Comparable<ByteSize> {
  private static final Pattern QUANTITY =
      Pattern.compile("(\\d{1,19}(?:\\.\\d{1,9})?)([kKMGTPE]i?)?");
  private static final Map<String, Long> UNITS =
      Map.ofEntries(
          Map.entry("k", 1000L),
          Map.entry("K", 1000L),
          Map.entry("M", 1000_000L),
          Map.entry("G", 1000_000_000L),
          Map.entry("T", 1000_000_000_000L),
          Map.entry("P", 1000_000_000_000_000L),
          Map.entry("E", 1000_000_000_000_000_000L),
          Map.entry("Ki", 1L << 10),
          Map.entry("Mi", 1L << 20),
          Map.entry("Gi", 1L << 30),
          Map.entry("Ti", 1L << 40),
          Map.entry("Pi", 1L << 50),
          Map.entry("Ei", 1L << 60));

  public ByteSize {
    if (bytes < 0) {
      throw new IllegalArgumentException("a size cannot be negative: " + bytes);
    }
  }

  public static ByteSize of(long bytes) {
    return new ByteSize(bytes);
  }

  public static ByteSize mebibytes(long count) {
    return new ByteSize(Math.multiplyExact(count, 1L << 20));
  }

  /** Fractions of a byte are rounded up, as Kubernetes does. */
  public static ByteSize parse(String text) {
    var match = QUANTITY.matcher(text.strip());
    if (!match.matches()) {
      throw new IllegalArgumentException(
          "'" + text + "' is not a size; write a number and a unit, such as 512Mi, 10Gi or 2T");
    }
    var unit = match.group(2);
    var factor = unit == null ? 1L : UNITS.getOrDefault(unit, 0L);
    if (factor == 0L) {
      throw new IllegalArgumentException(
          "'" + text + "' has an unknown unit; use Ki, Mi, Gi, Ti, k, M, G or T");
    }
    var value =
        new BigDecimal(match.group(1))
            .multiply(BigDecimal.valueOf(factor))
            .setScale(0, java.math.RoundingMode.CEILING);
    if (value.toBigInteger().bitLength() > 62) {
      throw new IllegalArgumentException("'" + text + "' is more bytes than a disk can have");
    }
    return new ByteSize(value.longValueExact());
  }

  @Override
  public int compareTo(ByteSize other) {
    return Long.compare(bytes, other.bytes);
  }

  /** For people: three digits or so. */
  public String rounded() {
    String[] names = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    var value = (double) bytes;
    var unit = 0;
    while (value >= 1024 && unit < names.length - 1) {
      value /= 1024;
      unit++;
    }
    var whole = value == Math.rint(value) || value >= 100;
    return String.format(Locale.ROOT, whole ? "%.0f %s" : "%.1f %s", value, names[unit]);
  }

  /** The shortest exact spelling that {@link #parse} reads back. */
  @Override
  public String toString() {
    String[] names = {"", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"};
    var unit = 0;
    var value = bytes;
    while (value != 0 && value % 1024 == 0 && unit < names.length - 1) {
      value /= 1024;
      unit++;
    }
    return value + names[unit];
  }
}
