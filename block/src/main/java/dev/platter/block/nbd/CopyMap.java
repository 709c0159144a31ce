package dev.platter.block.nbd;

import dev.platter.block.Extent;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;

/**
 * Which parts of a disk are holes, for all who copy it. The server is asked for much at once: QEMU
 * takes time for each such request in which it answers nothing else, and gives the memory back that
 * it reads into.
 */
final class CopyMap {
  private long start;
  private long end;
  private List<Extent> known = List.of();

  /**
   * What a range consists of, from its beginning on, perhaps not to its end.
   *
   * @param total the size of the disk
   */
  synchronized List<Extent> extents(NbdClient client, long from, long to, long total)
      throws IOException {
    if (from < start || from >= end) {
      known = client.extents(from, total - from);
      start = from;
      end = from + known.stream().mapToLong(Extent::length).sum();
    }
    return between(from, Math.min(to, end));
  }

  private List<Extent> between(long from, long to) {
    List<Extent> extents = new ArrayList<>();
    long at = start;
    for (Extent extent : known) {
      long first = Math.max(at, from);
      at += extent.length();
      long last = Math.min(at, to);
      if (first < last) {
        extents.add(new Extent(last - first, extent.kind()));
      }
    }
    return extents;
  }
}
