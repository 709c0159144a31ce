package dev.platter.block.scsi;

import static dev.platter.block.scsi.Limits.BLOCK;

import dev.platter.block.BlockDevice;
import dev.platter.block.Extent;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;

/** Which blocks have space: holes of the device in whole blocks; what is partly data is data. */
final class LbaStatus {
  private static final long MOST_BLOCKS = 0xffffffffL;

  record Run(long lba, long blocks, Extent.Kind kind) {}

  private LbaStatus() {}

  /** At least one, from a block on. */
  static List<Run> runs(BlockDevice device, long lba, int most) throws ScsiException {
    List<Run> runs = new ArrayList<>();
    long at = lba * BLOCK;
    try {
      for (Extent extent : device.extents(at, device.size() - at)) {
        long next = at + extent.length();
        long end = extent.isHole() ? next / BLOCK : (next + BLOCK - 1) / BLOCK;
        add(runs, lba, end, extent.kind());
        lba = Math.max(lba, end);
        at = next;
        if (runs.size() > most) {
          break;
        }
      }
    } catch (IOException e) {
      throw ScsiException.reading(e);
    }
    if (runs.isEmpty()) {
      runs.add(new Run(lba, 1, Extent.Kind.DATA));
    }
    return runs.size() > most ? runs.subList(0, most) : runs;
  }

  /** Makes one run of neighbours that are alike. */
  private static void add(List<Run> runs, long from, long to, Extent.Kind kind) {
    long blocks = Math.min(to - from, MOST_BLOCKS);
    if (blocks <= 0) {
      return;
    }
    Run last = runs.isEmpty() ? null : runs.getLast();
    boolean joins =
        last != null
            && last.kind == kind
            && last.lba + last.blocks == from
            && last.blocks + blocks <= MOST_BLOCKS;
    if (last != null && joins) {
      runs.set(runs.size() - 1, new Run(last.lba, last.blocks + blocks, kind));
    } else {
      runs.add(new Run(from, blocks, kind));
    }
  }
}
