package dev.platter.e2e;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashSet;
import java.util.List;

/**
 * Judges a disk by what its guest's console said to be written. A write that is not there was lost.
 * If two guests had the disk at a time, each began after the last record that it found, so either
 * their records alternate, or one overwrote what the other had been told to be safe.
 */
final class DiskOracle {
  private DiskOracle() {}

  /**
   * @param area of the disk, from the first record on
   * @param answered what consoles showed, in any order
   * @return what is wrong; empty if nothing is
   */
  static List<String> faults(String vm, byte[] area, List<Written> answered) {
    var faults = new ArrayList<String>();
    var found = new ArrayList<Written>();
    for (var number = 0; number * Written.SECTOR < area.length; number++) {
      var at = number * Written.SECTOR;
      var sector = Arrays.copyOfRange(area, at, at + Written.SECTOR);
      var written = Written.read(sector);
      if (written.isEmpty()) {
        if (!empty(sector)) {
          faults.add("%s: sector %d is torn".formatted(vm, number));
        }
        break;
      }
      if (!written.get().vm().equals(vm) || written.get().number() != number) {
        faults.add("%s: sector %d holds %s".formatted(vm, number, written.get()));
      }
      found.add(written.get());
    }
    for (var one : answered) {
      if (one.number() >= found.size()) {
        faults.add("%s: lost: %s; the disk ends at %d".formatted(vm, one, found.size()));
      } else if (!found.get(one.number()).equals(one)) {
        faults.add("%s: lost: %s, there is %s".formatted(vm, one, found.get(one.number())));
      }
    }
    faults.addAll(alternating(vm, found));
    return faults;
  }

  private static List<String> alternating(String vm, List<Written> found) {
    var faults = new ArrayList<String>();
    var boots = new LinkedHashSet<String>();
    for (var one : found) {
      if (!boots.add(one.boot()) && !boots.getLast().equals(one.boot())) {
        faults.add("%s: two writers: %s after boot %s".formatted(vm, one, boots.getLast()));
      }
    }
    return faults;
  }

  private static boolean empty(byte[] sector) {
    for (var b : sector) {
      if (b != 0) {
        return false;
      }
    }
    return true;
  }
}
