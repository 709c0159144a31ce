package dev.platter.block;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.ConcurrentSkipListMap;

/** A disk that is gone with the process. Only pages that were written take memory. */
public final class MemoryDevice implements BlockDevice {
  private static final int PAGE = 1 << 16;
  private static final byte[] ZEROS = new byte[PAGE];

  private final long size;
  private final ConcurrentSkipListMap<Long, byte[]> pages = new ConcurrentSkipListMap<>();

  public MemoryDevice(long size) {
    if (size < 0) {
      throw new IllegalArgumentException("a device of " + size + " bytes");
    }
    this.size = size;
  }

  @Override
  public long size() {
    return size;
  }

  @Override
  public boolean readOnly() {
    return false;
  }

  @Override
  public void read(long offset, ByteBuffer into) {
    for (long at = offset; into.hasRemaining(); ) {
      int from = (int) (at % PAGE);
      int n = Math.min(PAGE - from, into.remaining());
      byte[] page = pages.get(at / PAGE);
      into.put(page == null ? ZEROS : page, from, n);
      at += n;
    }
  }

  @Override
  public void write(long offset, ByteBuffer from) {
    for (long at = offset; from.hasRemaining(); ) {
      int to = (int) (at % PAGE);
      int n = Math.min(PAGE - to, from.remaining());
      from.get(pages.computeIfAbsent(at / PAGE, _ -> new byte[PAGE]), to, n);
      at += n;
    }
  }

  @Override
  public void zero(long offset, long length, boolean mayTrim) {
    long end = offset + length;
    long firstWhole = (offset + PAGE - 1) / PAGE;
    long lastWhole = end / PAGE;
    if (firstWhole >= lastWhole) {
      fillWithZeros(offset, end);
      return;
    }
    pages.subMap(firstWhole, lastWhole).clear();
    fillWithZeros(offset, firstWhole * PAGE);
    fillWithZeros(lastWhole * PAGE, end);
  }

  /** Of a range that lies in two pages at most. */
  private void fillWithZeros(long offset, long end) {
    for (long at = offset; at < end; ) {
      long next = Math.min(end, (at / PAGE + 1) * PAGE);
      byte[] page = pages.get(at / PAGE);
      if (page != null) {
        int from = (int) (at % PAGE);
        Arrays.fill(page, from, from + (int) (next - at), (byte) 0);
      }
      at = next;
    }
  }

  @Override
  public void trim(long offset, long length) {
    zero(offset, length, true);
  }

  @Override
  public void flush() {}

  @Override
  public List<Extent> extents(long offset, long length) {
    List<Extent> runs = new ArrayList<>();
    long end = offset + length;
    for (long at = offset; at < end && runs.size() < MOST_EXTENTS; ) {
      Long next = pages.ceilingKey(at / PAGE);
      long data = next == null ? end : Math.min(end, Math.max(at, next * PAGE));
      if (data > at) {
        runs.add(new Extent(data - at, Extent.Kind.HOLE));
        at = data;
        continue;
      }
      long page = at / PAGE;
      while (page * PAGE < end && pages.containsKey(page)) {
        page++;
      }
      long hole = Math.min(end, page * PAGE);
      if (hole > at) { // else the page was dropped meanwhile
        runs.add(new Extent(hole - at, Extent.Kind.DATA));
        at = hole;
      }
    }
    return runs;
  }

  @Override
  public void close() {
    pages.clear();
  }
}
