package dev.platter.plan;

import java.util.Collections;
import java.util.SortedMap;
import java.util.TreeMap;

/**
 * The content of a cloud-init disk.
 *
 * @param label the volume label that cloud-init looks for
 * @param files paths to texts
 * @param shown the same without what may be secret, for people to read
 */
public record Seed(String label, SortedMap<String, String> files, SortedMap<String, String> shown) {
  public Seed {
    files = Collections.unmodifiableSortedMap(new TreeMap<>(files));
    shown = Collections.unmodifiableSortedMap(new TreeMap<>(shown));
  }

  /** Does not show the content, which may hold secrets. */
  @Override
  public String toString() {
    return "Seed[" + label + ", " + files.keySet() + "]";
  }
}
