package dev.platter.bench;

/**
 * Medians of one comparison.
 *
 * @param ratio how many times faster ours is: rival / ours for times, ours / rival for rates
 * @param oursCpu CPU milliseconds a round, all processes
 */
record Row(
    String row,
    double ours,
    double rival,
    String rivalName,
    double ratio,
    String unit,
    double oursCpu,
    double rivalCpu) {}
