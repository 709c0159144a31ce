package dev.platter.cluster.node;

/**
 * Gives memory back when a burst of starts is over: the collector does so only when it has looked
 * at the whole heap, for which it sees no reason before the heap is full.
 */
final class Rest {
  private long seen;
  private boolean rested = true;

  /**
   * To be told from time to time.
   *
   * @param work how much there has been until now
   * @return whether it was time to rest
   */
  boolean after(long work) {
    if (work != seen) {
      seen = work;
      rested = false;
      return false;
    }
    if (rested) {
      return false;
    }
    System.gc();
    rested = true;
    return true;
  }
}
