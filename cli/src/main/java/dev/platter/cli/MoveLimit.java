package dev.platter.cli;

import dev.platter.model.PlatterException;
import dev.platter.model.PlatterException.Code;
import java.time.Duration;
import java.util.Optional;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Option;

/** {@code --timeout-per-gib SECONDS}: how long a running VM may be on its way. */
final class MoveLimit {
  /** As on a cluster, whose objects cannot say more. */
  private static final int MOST = 86_400;

  private static final Pattern NUMBER = Pattern.compile("[0-9]{1,5}");

  @Option(
      names = "--timeout-per-gib",
      paramLabel = "SECONDS",
      description =
          "Give it up when it takes longer than this for each GiB of the VM's memory and of the"
              + " disks that are copied, together; from 1 to 86400 (default: 150).")
  @Nullable String seconds;

  /** Empty if it is as long as usual. */
  Optional<Duration> perGib() {
    if (seconds == null) {
      return Optional.empty();
    }
    var number = NUMBER.matcher(seconds).matches() ? Integer.parseInt(seconds) : 0;
    if (number < 1 || number > MOST) {
      throw PlatterException.of(
          Code.INVALID,
          "'%s' is not a number of seconds for --timeout-per-gib".formatted(seconds),
          "Give a whole number from 1 to %d, such as 300.".formatted(MOST));
    }
    return Optional.of(Duration.ofSeconds(number));
  }
}
