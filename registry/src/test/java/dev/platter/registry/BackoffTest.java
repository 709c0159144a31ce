package dev.platter.registry;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.time.Instant;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class BackoffTest {
  @ParameterizedTest
  @CsvSource(
      nullValues = "-",
      value = {
        "3, PT3S",
        "0, PT0S",
        "999999, PT20S",
        "'Sun, 15 Nov 2026 12:00:07 GMT', PT7S",
        "'Sun, 15 Nov 2026 11:00:00 GMT', PT0S",
        "'Sun, 15 Nov 2099 12:00:00 GMT', PT20S",
        "-1, -",
        "soon, -",
        "'', -",
        "9999999999999999999, -",
      })
  void aPeerSaysHowLongToWaitWithinReason(String header, Duration wait) {
    assertThat(
            Backoff.retryAfter(header == null ? "" : header, Instant.parse("2026-11-15T12:00:00Z")))
        .isEqualTo(wait);
  }
}
