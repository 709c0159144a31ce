package dev.platter.bench;

import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Runs contenders in turn, round after round, so that whatever else the machine does falls on all
 * of them alike. The first rounds warm up and do not count.
 */
final class Contest {
  /** Times a piece of work by {@link Stopwatch} once, and checks what it made. */
  interface Contender {
    Stopwatch.Reading round() throws Exception;
  }

  /**
   * @param first the very first call, before anything was warm
   * @param median of the rounds that count
   */
  record Outcome(Stopwatch.Reading first, Stopwatch.Reading median) {}

  static final int WARM_UP = 5;

  private final int warmUp;
  private final Map<String, Contender> contenders = new LinkedHashMap<>();

  Contest() {
    this(WARM_UP);
  }

  /** For work of many seconds, which is warm sooner. */
  Contest(int warmUp) {
    this.warmUp = warmUp;
  }

  Contest with(String name, Contender contender) {
    contenders.put(name, contender);
    return this;
  }

  Map<String, Outcome> run(int rounds) throws Exception {
    var readings = new LinkedHashMap<String, List<Stopwatch.Reading>>();
    for (var round = 0; round < warmUp + rounds; round++) {
      // Nobody always comes after the same one, who leaves the caches in some state.
      var order = new ArrayList<>(contenders.entrySet());
      Collections.rotate(order, -round);
      for (var entry : order) {
        readings
            .computeIfAbsent(entry.getKey(), _ -> new ArrayList<>())
            .add(entry.getValue().round());
      }
    }
    var out = new LinkedHashMap<String, Outcome>();
    readings.forEach((name, all) -> out.put(name, outcome(all, warmUp)));
    return out;
  }

  /** What the readings of all rounds say once the warm-up is left out. */
  static Outcome outcome(List<Stopwatch.Reading> all) {
    return outcome(all, WARM_UP);
  }

  static Outcome outcome(List<Stopwatch.Reading> all, int warmUp) {
    var counted = all.subList(warmUp, all.size());
    return new Outcome(
        all.getFirst(),
        new Stopwatch.Reading(
            median(counted.stream().map(Stopwatch.Reading::millis).toList()),
            median(counted.stream().map(Stopwatch.Reading::cpuMillis).toList())));
  }

  static Outcome outcome(Map<String, Outcome> outcomes, String name) {
    var outcome = outcomes.get(name);
    if (outcome == null) {
      throw new IllegalStateException("no contender " + name);
    }
    return outcome;
  }

  static double median(List<Double> values) {
    var sorted = values.stream().sorted().toList();
    var middle = sorted.size() / 2;
    return sorted.size() % 2 == 1
        ? sorted.get(middle)
        : (sorted.get(middle - 1) + sorted.get(middle)) / 2;
  }
}
