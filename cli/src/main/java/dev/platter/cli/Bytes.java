package dev.platter.cli;

import java.util.Locale;

/** A number of bytes: rounded for people, exact for programs. */
record Bytes(long count) {
  private static final String[] UNITS = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};

  @Override
  public String toString() {
    var value = (double) count;
    var unit = 0;
    while (value >= 1024 && unit < UNITS.length - 1) {
      value /= 1024;
      unit++;
    }
    var whole = value == Math.rint(value) || value >= 100;
    return String.format(Locale.ROOT, whole ? "%.0f %s" : "%.1f %s", value, UNITS[unit]);
  }
}
