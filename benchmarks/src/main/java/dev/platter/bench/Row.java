package dev.platter.bench;

/**
 * Medians of one comparison.
 *
 * @param ratio rival / ours: above 1, ours is faster
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
