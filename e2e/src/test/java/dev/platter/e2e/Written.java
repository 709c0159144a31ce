package dev.platter.e2e;

import static java.nio.charset.StandardCharsets.US_ASCII;

import java.util.Arrays;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * A record that a guest has written: one sector, all of whose bytes follow from these fields, so
 * one that is torn, stale or another's is seen. {@code writer.sh} makes them.
 *
 * @param boot of the guest: another one for each time that it was started
 * @param number counts from 0, over all boots, and says in which sector the record is
 * @param clock hundredths of a second since the guest was started
 */
record Written(String vm, String boot, int number, long clock) {
  static final int SECTOR = 512;
  private static final Pattern TEXT =
      Pattern.compile("(\\S+) ([0-9a-f]{8}) (\\d{1,9}) (\\d{1,15}) (\\d+)");
  private static final Pattern ANSWERED = Pattern.compile("@@WROTE (" + TEXT.pattern() + ")$");

  /** What a line of the console says to be safe on the disk. */
  static Optional<Written> answered(String line) {
    var found = ANSWERED.matcher(line);
    return found.find() ? parse(found.group(1)) : Optional.empty();
  }

  /** Empty if it is not a record, or not as it was written. */
  static Optional<Written> read(byte[] sector) {
    return parse(new String(sector, US_ASCII).stripTrailing())
        .filter(written -> Arrays.equals(written.sector(), sector));
  }

  private static Optional<Written> parse(String text) {
    Matcher word = TEXT.matcher(text);
    if (!word.matches()) {
      return Optional.empty();
    }
    var written =
        new Written(
            word.group(1),
            word.group(2),
            Integer.parseInt(word.group(3)),
            Long.parseLong(word.group(4)));
    return Optional.of(written).filter(one -> one.text().equals(text));
  }

  private String text() {
    var sum = (number * 2_654_435_761L ^ Long.parseLong(boot, 16) ^ clock) & 0xffff_ffffL;
    return "%s %s %d %d %d".formatted(vm, boot, number, clock, sum);
  }

  byte[] sector() {
    return "%-511s\n".formatted(text()).getBytes(US_ASCII);
  }
}
