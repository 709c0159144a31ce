package dev.platter.bench;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Runs contenders in turn, round after round, so that whatever else the machine does falls on all
 * of them alike. The first round warms up and does not count.
 */
final class Contest {
  /** Does the work once and returns the nanoseconds that count; checks what it made. */
  interface Contender {
    long round(int number) throws Exception;
  }

  /** Medians over the rounds. */
  record Outcome(double millis, double cpuMillis) {}

  private final Map<String, Contender> contenders = new LinkedHashMap<>();

  Contest with(String name, Contender contender) {
    contenders.put(name, contender);
    return this;
  }

  Map<String, Outcome> run(int rounds) throws Exception {
    var times = new LinkedHashMap<String, List<Double>>();
    var cpu = new LinkedHashMap<String, List<Double>>();
    for (var round = 0; round <= rounds; round++) {
      for (var entry : contenders.entrySet()) {
        var before = cpuMillis();
        var nanos = entry.getValue().round(round);
        var used = cpuMillis() - before;
        if (round > 0) {
          times.computeIfAbsent(entry.getKey(), _ -> new ArrayList<>()).add(nanos / 1e6);
          cpu.computeIfAbsent(entry.getKey(), _ -> new ArrayList<>()).add(used);
        }
      }
    }
    var out = new LinkedHashMap<String, Outcome>();
    times.forEach(
        (name, list) ->
            out.put(name, new Outcome(median(list), mean(cpu.getOrDefault(name, List.of())))));
    return out;
  }

  static double median(List<Double> values) {
    var sorted = values.stream().sorted().toList();
    var middle = sorted.size() / 2;
    return sorted.size() % 2 == 1
        ? sorted.get(middle)
        : (sorted.get(middle - 1) + sorted.get(middle)) / 2;
  }

  /**
   * The kernel counts CPU time in ticks of 10 ms, so only the mean over many rounds says something.
   */
  private static double mean(List<Double> values) {
    return values.stream().mapToDouble(Double::doubleValue).average().orElse(0);
  }

  /** User and system time of this process and of the children that have ended. */
  private static double cpuMillis() throws IOException {
    var stat = Files.readString(Path.of("/proc/self/stat"));
    var fields = stat.substring(stat.lastIndexOf(')') + 2).split(" ");
    long ticks = 0;
    for (var i = 11; i <= 14; i++) {
      ticks += Long.parseLong(fields[i]);
    }
    return ticks * 10.0;
  }
}
