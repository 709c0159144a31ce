package dev.platter.registry;

import java.io.InterruptedIOException;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.time.Instant;
import java.time.ZonedDateTime;
import java.time.format.DateTimeFormatter;
import java.time.format.DateTimeParseException;
import java.util.concurrent.ThreadLocalRandom;
import org.jspecify.annotations.Nullable;

/** How long to wait between attempts: twice as long each time, or as long as the peer asks. */
final class Backoff {
  /** No longer than a user would wait, whatever the peer asks. */
  private static final Duration MAX_WAIT = Duration.ofSeconds(20);

  private Duration wait;

  Backoff(Duration first) {
    this.wait = first;
  }

  /** Waits before the next attempt. {@code response} is what the last one got, if anything. */
  void pause(@Nullable HttpResponse<?> response, String what) throws InterruptedIOException {
    @Nullable Duration asked =
        response == null
            ? null
            : retryAfter(response.headers().firstValue("Retry-After").orElse(""), Instant.now());
    try {
      Thread.sleep(asked != null ? asked : jittered(wait));
    } catch (InterruptedException e) {
      throw Transport.interrupted(what);
    }
    wait = min(wait.multipliedBy(2), MAX_WAIT);
  }

  static @Nullable Duration retryAfter(String value, Instant now) {
    if (value.matches("[0-9]{1,6}")) {
      return min(Duration.ofSeconds(Long.parseLong(value)), MAX_WAIT);
    }
    try {
      Instant then = ZonedDateTime.parse(value, DateTimeFormatter.RFC_1123_DATE_TIME).toInstant();
      return then.isBefore(now) ? Duration.ZERO : min(Duration.between(now, then), MAX_WAIT);
    } catch (DateTimeParseException e) {
      return null;
    }
  }

  /** So that many nodes that failed together do not come back together. */
  private static Duration jittered(Duration wait) {
    double factor = ThreadLocalRandom.current().nextDouble(0.5, 1.5);
    return Duration.ofNanos((long) (wait.toNanos() * factor));
  }

  private static Duration min(Duration one, Duration other) {
    return one.compareTo(other) < 0 ? one : other;
  }
}
