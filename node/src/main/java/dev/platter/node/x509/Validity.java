package dev.platter.node.x509;

import java.time.Duration;
import java.time.Instant;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.util.Locale;

/** From when until when a certificate counts. */
public record Validity(Instant from, Instant until) {
  /** From long ago, without an end (RFC 5280, 4.1.2.5). */
  public static final Validity ALWAYS =
      new Validity(Instant.EPOCH, Instant.parse("9999-12-31T23:59:59Z"));

  /** Years from here on are written with four digits. */
  private static final int FOUR_DIGITS = 2050;

  /** Clocks differ, so it counts from a little before now. */
  public static Validity of(Instant now, Duration length) {
    return new Validity(now.minus(Duration.ofMinutes(10)), now.plus(length));
  }

  byte[] der() {
    return Der.sequence(time(from), time(until));
  }

  private static byte[] time(Instant instant) {
    var time = instant.atOffset(ZoneOffset.UTC);
    return time.getYear() < FOUR_DIGITS
        ? Der.utcTime(DateTimeFormatter.ofPattern("uuMMddHHmmss'Z'", Locale.ROOT).format(time))
        : Der.generalizedTime(
            DateTimeFormatter.ofPattern("uuuuMMddHHmmss'Z'", Locale.ROOT).format(time));
  }
}
