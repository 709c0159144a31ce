package dev.platter.node.move;

import java.util.HashMap;
import java.util.Map;

/**
 * A number of places of which nobody has more than are left free: one alone gets half of them, two
 * get a third each, and there is always a place for who comes next.
 */
final class Shares<T> {
  private final Map<T, Integer> taken = new HashMap<>();
  private int free;

  Shares(int places) {
    this.free = places;
  }

  /** Whether there was a place for them. */
  synchronized boolean take(T who) {
    var has = taken.getOrDefault(who, 0);
    if (has >= free) {
      return false;
    }
    free--;
    taken.put(who, has + 1);
    return true;
  }

  synchronized void give(T who) {
    free++;
    taken.computeIfPresent(who, (_, has) -> has == 1 ? null : has - 1);
  }
}
