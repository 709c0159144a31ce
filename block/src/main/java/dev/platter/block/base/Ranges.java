package dev.platter.block.base;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** A set of bytes, as runs that neither touch nor overlap. Not for several threads. */
final class Ranges {
  private final TreeMap<Long, Long> runs = new TreeMap<>();

  boolean isEmpty() {
    return runs.isEmpty();
  }

  void add(Range range) {
    long from = range.from();
    long to = range.to();
    Map.Entry<Long, Long> before = runs.floorEntry(from);
    if (before != null && before.getValue() >= from) {
      from = before.getKey();
      to = Math.max(to, before.getValue());
    }
    for (Map.Entry<Long, Long> next = runs.ceilingEntry(from);
        next != null && next.getKey() <= to;
        next = runs.ceilingEntry(from)) {
      to = Math.max(to, next.getValue());
      runs.remove(next.getKey());
    }
    runs.put(from, to);
  }

  void addAll(Iterable<Range> ranges) {
    ranges.forEach(this::add);
  }

  void remove(Range range) {
    Map.Entry<Long, Long> before = runs.lowerEntry(range.from());
    if (before != null && before.getValue() > range.from()) {
      runs.put(before.getKey(), range.from());
      if (before.getValue() > range.to()) {
        runs.put(range.to(), before.getValue());
      }
    }
    for (Map.Entry<Long, Long> next = runs.ceilingEntry(range.from());
        next != null && next.getKey() < range.to();
        next = runs.ceilingEntry(range.from())) {
      runs.remove(next.getKey());
      if (next.getValue() > range.to()) {
        runs.put(range.to(), next.getValue());
      }
    }
  }

  boolean contains(Range range) {
    Map.Entry<Long, Long> run = runs.floorEntry(range.from());
    return run != null && run.getValue() >= range.to();
  }

  /** What of a range is not in the set. */
  List<Range> missing(Range range) {
    List<Range> missing = new ArrayList<>();
    long at = range.from();
    Map.Entry<Long, Long> run = runs.floorEntry(at);
    if (run != null) {
      at = Math.max(at, run.getValue());
    }
    while (at < range.to()) {
      run = runs.ceilingEntry(at);
      long end = run == null ? range.to() : Math.min(range.to(), run.getKey());
      if (at < end) {
        missing.add(new Range(at, end));
      }
      at = run == null ? range.to() : Math.max(end, run.getValue());
    }
    return missing;
  }

  List<Range> list() {
    List<Range> list = new ArrayList<>(runs.size());
    runs.forEach((from, to) -> list.add(new Range(from, to)));
    return list;
  }

  void clear() {
    runs.clear();
  }
}
