package dev.platter.dialect;

import dev.platter.model.PlatterException;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.snakeyaml.engine.v2.exceptions.Mark;

/** Collects everything that is wrong with one file, so that the user sees all of it at once. */
final class Problems {
  private static final int MOST = 50;
  private static final int LONGEST = 600;

  private final String file;
  private final List<Problem> found = new ArrayList<>();

  private record Problem(int line, String text) {}

  Problems(String file) {
    this.file = file;
  }

  void add(Optional<Mark> mark, String path, String message) {
    add(mark.map(Mark::getLine).orElse(0) + 1, path, message);
  }

  /** The line is counted from 1. */
  void add(int line, String path, String message) {
    var where = path.isEmpty() ? "" : path + ": ";
    var text = file + ":" + line + ": " + where + shortened(message);
    if (found.stream().noneMatch(problem -> problem.text.equals(text))) {
      found.add(new Problem(line, text));
    }
  }

  /** A message may repeat what it complains of, and that may be as long as the file. */
  private static String shortened(String message) {
    var half = LONGEST / 2;
    return message.length() <= LONGEST
        ? message
        : message.substring(0, half) + " … " + message.substring(message.length() - half);
  }

  int count() {
    return found.size();
  }

  void throwIfAny() {
    if (!found.isEmpty()) {
      throw toException();
    }
  }

  PlatterException toException() {
    var lines =
        found.stream()
            .sorted(java.util.Comparator.comparingInt(Problem::line))
            .map(Problem::text)
            .limit(MOST)
            .toList();
    var more = found.size() > MOST ? " (the first " + MOST + " are shown)" : "";
    var count = found.size() == 1 ? "1 problem" : found.size() + " problems";
    return PlatterException.all(
        PlatterException.Code.INVALID,
        file + " is not valid: " + count + more,
        "Correct the lines above and try again.",
        lines);
  }
}
