package dev.platter.bench;

/**
 * Medians of one comparison.
 *
 * @param rival NaN where there is nothing to compare with; so is the ratio then
 * @param ratio how many times better ours is: rival / ours for times and sizes, ours / rival for
 *     rates
 * @param oursCpu CPU milliseconds a round, all processes; NaN where that says nothing
 */
record Row(
    String row,
    double ours,
    double rival,
    String rivalName,
    double ratio,
    String unit,
    double oursCpu,
    double rivalCpu) {
  /** Less is better, and CPU time says nothing. */
  static Row of(String row, double ours, double rival, String rivalName, String unit) {
    return new Row(row, ours, rival, rivalName, rival / ours, unit, Double.NaN, Double.NaN);
  }

  /** A part of ours that no rival has. */
  static Row alone(String row, double ours, String unit) {
    return of(row, ours, Double.NaN, "", unit);
  }

  /** Both timed by a stopwatch. */
  static Row of(String row, Stopwatch.Reading ours, Stopwatch.Reading rival, String rivalName) {
    return new Row(
        row,
        ours.millis(),
        rival.millis(),
        rivalName,
        rival.millis() / ours.millis(),
        "ms",
        ours.cpuMillis(),
        rival.cpuMillis());
  }
}
