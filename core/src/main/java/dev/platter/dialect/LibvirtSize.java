package dev.platter.dialect;

import dev.platter.model.ByteSize;
import java.math.BigInteger;
import java.util.Map;
import java.util.regex.Pattern;

/**
 * Sizes as libvirt writes them, which FlexVolumes use: {@code 1024MB} are thousands, {@code 1GiB}
 * and {@code 1G} are powers of two.
 */
final class LibvirtSize {
  private static final Pattern SIZE = Pattern.compile(" *(\\d{1,19}) *([A-Za-z]*) *");
  private static final String PREFIXES = "KMGTPE";
  private static final int SECTOR = 512;

  private LibvirtSize() {}

  /** Rounded up to whole sectors. */
  static ByteSize parse(String text) {
    var match = SIZE.matcher(text);
    var unit = match.matches() ? unit(match.group(2)) : BigInteger.ZERO;
    if (unit.signum() == 0) {
      throw new IllegalArgumentException(
          "'"
              + (text.length() > 40 ? text.substring(0, 40) + "…" : text)
              + "' is not a capacity; write a whole number and a unit of libvirt's, such as 2048MB"
              + " (thousands) or 2GiB");
    }
    var bytes = new BigInteger(match.group(1)).multiply(unit);
    if (bytes.signum() == 0 || bytes.bitLength() > 62) {
      throw new IllegalArgumentException("'" + text.strip() + "' cannot be the size of a disk");
    }
    return ByteSize.of((bytes.longValueExact() + SECTOR - 1) / SECTOR * SECTOR);
  }

  /** Zero for a word that is no unit. */
  private static BigInteger unit(String word) {
    return switch (word) {
      case "" -> BigInteger.valueOf(1_000_000);
      case "B", "bytes" -> BigInteger.ONE;
      default -> {
        var power = PREFIXES.indexOf(word.charAt(0)) + 1;
        var base = Map.of("B", 1000L, "", 1024L, "iB", 1024L).get(word.substring(1));
        yield power == 0 || base == null ? BigInteger.ZERO : BigInteger.valueOf(base).pow(power);
      }
    };
  }
}
