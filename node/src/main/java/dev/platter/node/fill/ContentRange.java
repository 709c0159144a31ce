package dev.platter.node.fill;

import java.util.Optional;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * Which part of a file a body is: {@code bytes 0-999/5000}.
 *
 * @param total -1 if the sender does not say
 */
record ContentRange(long from, long to, long total) {
  private static final Pattern FORM =
      Pattern.compile("bytes (?<from>\\d{1,18})-(?<to>\\d{1,18})/(?<total>\\d{1,18}|\\*)");

  static Optional<ContentRange> parse(@Nullable String text) {
    var match = FORM.matcher(text == null ? "" : text);
    if (!match.matches()) {
      return Optional.empty();
    }
    var all = match.group("total");
    var range =
        new ContentRange(
            Long.parseLong(match.group("from")),
            Long.parseLong(match.group("to")),
            all.equals("*") ? -1 : Long.parseLong(all));
    var right = range.from <= range.to && (range.total < 0 || range.to < range.total);
    return right ? Optional.of(range) : Optional.empty();
  }
}
