package dev.platter.block.base;

import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * Which block of the guest's disk a block of the disk file is, as far as tables were read. Pages
 * are made when first needed, so memory follows what the file holds.
 */
final class GuestBlocks {
  private static final int PAGE = 4096;
  private static final int NONE = -1;

  private final int[] @Nullable [] pages;

  GuestBlocks(long fileBlocks) {
    this.pages = new int[Math.toIntExact(Math.ceilDiv(fileBlocks, (long) PAGE))][];
  }

  synchronized void put(long fileBlock, int guestBlock) {
    int index = (int) (fileBlock / PAGE);
    int[] page = pages[index];
    if (page == null) {
      page = new int[PAGE];
      Arrays.fill(page, NONE);
      pages[index] = page;
    }
    page[(int) (fileBlock % PAGE)] = guestBlock;
  }

  /** -1 if none is known. */
  synchronized int get(long fileBlock) {
    int index = (int) (fileBlock / PAGE);
    int[] page = index < pages.length ? pages[index] : null;
    return page == null ? NONE : page[(int) (fileBlock % PAGE)];
  }

  /** The blocks of a part of the file; null if it is not made of whole known ones. */
  int @Nullable [] of(long fileOffset, int length) {
    if (fileOffset % Base.BLOCK != 0 || length % Base.BLOCK != 0) {
      return null;
    }
    int[] blocks = new int[length / Base.BLOCK];
    for (int i = 0; i < blocks.length; i++) {
      blocks[i] = get(fileOffset / Base.BLOCK + i);
      if (blocks[i] < 0) {
        return null;
      }
    }
    return blocks;
  }
}
