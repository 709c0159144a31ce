package dev.platter.block;

import dev.platter.image.raw.NativeFile;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/**
 * A disk that can be written over one that cannot, or must not. What was written is gone when the
 * device is closed, however the process ends: it lies in a sparse file that has lost its name.
 *
 * <p>A block of 4 KiB is read from the file once it was written, and from the base until then. A
 * part of a block is written after the rest of it was copied from the base; whoever writes a block
 * for the first time holds its region alone, so that of two who write parts of it none is lost.
 * Whole blocks, which is what guests write, are never read before.
 *
 * <p>Left out: durability, of which nobody would have anything; so {@link #flush} does nothing.
 */
public final class EphemeralDevice implements BlockDevice {
  private static final int BLOCK = WrittenBlocks.BLOCK;
  private static final int SECTOR = 512;

  private final BlockDevice base;
  private final FileDevice file;
  private final WrittenBlocks written;

  private EphemeralDevice(BlockDevice base, FileDevice file) {
    this.base = base;
    this.file = file;
    this.written = new WrittenBlocks(file.size());
  }

  /**
   * A disk of the base's size, but of whole sectors.
   *
   * @param base stays its owner's
   * @param directory where there is room for what is going to be written
   */
  public static EphemeralDevice over(BlockDevice base, Path directory) throws IOException {
    Path name = Files.createTempFile(directory, "platter-", ".ephemeral");
    try {
      try (var blank = NativeFile.openToWrite(name)) {
        blank.truncate(Math.ceilDiv(base.size(), (long) SECTOR) * SECTOR);
      }
      return new EphemeralDevice(base, FileDevice.openToWrite(name));
    } finally {
      Files.delete(name);
    }
  }

  @Override
  public long size() {
    return file.size();
  }

  @Override
  public boolean readOnly() {
    return false;
  }

  @Override
  public void read(long offset, ByteBuffer into) throws IOException {
    boolean _ = readRuns(offset, into, true);
  }

  @Override
  public boolean readNow(long offset, ByteBuffer into) throws IOException {
    int start = into.position();
    boolean all = readRuns(offset, into, false);
    if (!all) {
      into.position(start);
    }
    return all;
  }

  private boolean readRuns(long offset, ByteBuffer into, boolean mayWait) throws IOException {
    int limit = into.limit();
    long end = offset + into.remaining();
    boolean all = true;
    for (long at = offset; at < end && all; ) {
      boolean ours = written.isWritten(at);
      long to = written.runEnd(at, end, ours);
      into.limit(into.position() + (int) (to - at));
      all = ours ? read(file, at, into, mayWait) : readBase(at, into, mayWait);
      into.limit(limit);
      at = to;
    }
    return all;
  }

  private static boolean read(BlockDevice device, long offset, ByteBuffer into, boolean mayWait)
      throws IOException {
    if (!mayWait) {
      return device.readNow(offset, into);
    }
    device.read(offset, into);
    return true;
  }

  /** What lies behind the base is zeros. */
  private boolean readBase(long offset, ByteBuffer into, boolean mayWait) throws IOException {
    int limit = into.limit();
    int there = Math.clamp(base.size() - offset, 0, into.remaining());
    boolean all = there == 0 || read(base, offset, into.limit(into.position() + there), mayWait);
    into.limit(limit);
    while (all && into.hasRemaining()) {
      into.put((byte) 0);
    }
    return all;
  }

  @Override
  public void write(long offset, ByteBuffer from) throws IOException {
    int limit = from.limit();
    long end = offset + from.remaining();
    for (long at = offset; at < end; ) {
      long to = Math.min(end, endOfRegion(at));
      from.limit(from.position() + (int) (to - at));
      long start = at;
      change(at, to, () -> file.write(start, from));
      from.limit(limit);
      at = to;
    }
  }

  @Override
  public void zero(long offset, long length, boolean mayTrim) throws IOException {
    long end = offset + length;
    for (long at = offset; at < end; ) {
      long start = at;
      long to = Math.min(end, endOfRegion(at));
      change(at, to, () -> file.zero(start, to - start, mayTrim));
      at = to;
    }
  }

  private static long endOfRegion(long offset) {
    return (offset / WrittenBlocks.REGION + 1) * WrittenBlocks.REGION;
  }

  private interface Change {
    void run() throws IOException;
  }

  /** Of a range within a region. */
  private void change(long offset, long end, Change change) throws IOException {
    if (written.isAllWritten(offset, end)) {
      change.run();
      return;
    }
    // Not under the lock: it may take long.
    fetchIfCut(offset, offset, end);
    fetchIfCut(end - 1, offset, end);
    WrittenBlocks.Region region = written.region(offset);
    synchronized (region) {
      copyIfCut(region, offset, offset, end);
      copyIfCut(region, end - 1, offset, end);
      change.run();
      written.mark(region, offset, end);
    }
  }

  private static long startOfBlock(long at) {
    return at / BLOCK * BLOCK;
  }

  private long endOfBlock(long at) {
    return Math.min(size(), startOfBlock(at) + BLOCK);
  }

  /** Whether a block still has to be had from the base because the range has a part of it only. */
  private boolean isCut(long at, long offset, long end) {
    return (startOfBlock(at) < offset || end < endOfBlock(at)) && !written.isWritten(at);
  }

  private void fetchIfCut(long at, long offset, long end) throws IOException {
    if (isCut(at, offset, end)) {
      fetch(startOfBlock(at), endOfBlock(at) - startOfBlock(at));
    }
  }

  private void copyIfCut(WrittenBlocks.Region region, long at, long offset, long end)
      throws IOException {
    if (isCut(at, offset, end)) {
      ByteBuffer block = ByteBuffer.allocate((int) (endOfBlock(at) - startOfBlock(at)));
      boolean _ = readBase(startOfBlock(at), block, true);
      file.write(startOfBlock(at), block.flip());
      written.mark(region, startOfBlock(at), endOfBlock(at));
    }
  }

  /** Reads as zeros afterwards, and not as what the base has. */
  @Override
  public void trim(long offset, long length) throws IOException {
    zero(offset, length, true);
  }

  @Override
  public void flush() {}

  @Override
  public List<Extent> extents(long offset, long length) throws IOException {
    List<Extent> runs = new ArrayList<>();
    long end = offset + length;
    for (long at = offset; at < end && runs.size() < MOST_EXTENTS; ) {
      boolean ours = written.isWritten(at);
      long to = written.runEnd(at, end, ours);
      long told = 0;
      for (Extent run : ours ? file.extents(at, to - at) : extentsOfBase(at, to)) {
        if (runs.size() < MOST_EXTENTS) {
          runs.add(run);
          told += run.length();
        }
      }
      if (told < to - at) {
        return runs;
      }
      at = to;
    }
    return runs;
  }

  private List<Extent> extentsOfBase(long at, long to) throws IOException {
    long there = Math.min(to, base.size()) - at;
    return there > 0 ? base.extents(at, there) : List.of(new Extent(to - at, Extent.Kind.HOLE));
  }

  @Override
  public boolean ready(long offset, long length) {
    long end = Math.min(offset + length, base.size());
    for (long at = offset; at < end; ) {
      boolean ours = written.isWritten(at);
      long to = written.runEnd(at, end, ours);
      if (!ours && !base.ready(at, to - at)) {
        return false;
      }
      at = to;
    }
    return true;
  }

  @Override
  public void fetch(long offset, long length) throws IOException {
    long end = Math.min(offset + length, base.size());
    for (long at = offset; at < end; ) {
      boolean ours = written.isWritten(at);
      long to = written.runEnd(at, end, ours);
      if (!ours) {
        base.fetch(at, to - at);
      }
      at = to;
    }
  }

  @Override
  public long transferTo(long offset, long length, SocketChannel target) throws IOException {
    boolean ours = written.isWritten(offset);
    long to = written.runEnd(offset, offset + length, ours);
    if (ours) {
      return file.transferTo(offset, to - offset, target);
    }
    long there = Math.min(to, base.size()) - offset;
    return there > 0 ? base.transferTo(offset, there, target) : 0;
  }

  @Override
  public void close() throws IOException {
    file.close();
  }
}
