package dev.platter.block.lazy;

import dev.platter.block.BlockDevice;
import dev.platter.block.Extent;
import dev.platter.block.FileDevice;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.locks.ReentrantLock;
import java.util.stream.IntStream;

/**
 * A volume that begins as the disk of an image, before that has come. It is a raw file, as any
 * volume is; of each 64 KiB it is known whether they are the volume's own. Those that are not are
 * taken from the image when somebody reads them, or writes to a part of them; those that are
 * written as a whole are never taken. When it has all of them, the image is needed no more and the
 * file alone is the volume.
 *
 * <p>Bytes are in the file before their bit says so; what is answered to a write has its bit. So
 * after {@code kill -9} of this process nothing is lost. A power cut loses what was not flushed, as
 * with any disk: {@link #flush} syncs the bytes, then the bits. A block without a bit may have any
 * bytes in the file then, so it is written as a whole, be it with zeros ({@link FilledBlocks}).
 *
 * <p>After a flush that failed, what was taken from the image since the last one is missing again.
 * If somebody has written meanwhile, the volume is broken: it fails every write and flush, as a
 * disk does that has lost something, until nobody uses it and {@link #mend} has been called.
 *
 * <p>A stretch of 1 MiB has a lock, for who fills blocks in it; who finds the bits that it needs
 * takes none. A process has a volume open once.
 */
public final class LazyVolume implements BlockDevice {
  private static final int BLOCK = FilledBlocks.BLOCK;
  private static final int STRETCH = 1 << 20;
  private static final int LOCKS = 256;
  private static final int BUFFERS = 8;

  private final BlockDevice file;
  private final FilledBlocks blocks;
  private final BlockDevice image;
  private final ReentrantLock[] locks =
      IntStream.range(0, LOCKS).mapToObj(_ -> new ReentrantLock()).toArray(ReentrantLock[]::new);
  private final Queue<ByteBuffer> buffers = new ArrayBlockingQueue<>(BUFFERS);

  /** All blocks before it are there, so nobody has to look for one. */
  private volatile long filledUpTo;

  /** It is true of what has not been lost since. */
  private volatile long lossesThen;

  private volatile long lastWanted = System.nanoTime();

  /**
   * What {@code map} has to be for a volume that has nothing yet.
   *
   * @param size of the image's disk
   */
  public static byte[] nothing(long size) {
    return FilledBlocks.none(size);
  }

  /**
   * @param file of the volume, which is as large as the image's disk, or larger
   * @param map made as {@link #nothing} says, and published before the volume is used
   * @param live beside it, made and replaced by this
   * @param image stays its owner's; it is asked as often as it takes
   */
  public LazyVolume(Path file, Path map, Path live, BlockDevice image) throws IOException {
    this(file, map, live, image, boot());
  }

  LazyVolume(Path file, Path map, Path live, BlockDevice image, String boot) throws IOException {
    this(FileDevice.openToWrite(file), map, live, image, boot);
  }

  /**
   * @param file is this one's to close
   */
  LazyVolume(BlockDevice file, Path map, Path live, BlockDevice image, String boot)
      throws IOException {
    this.file = file;
    this.image = image;
    try {
      this.blocks = new FilledBlocks(map, live, boot);
    } catch (Throwable e) {
      this.file.close();
      throw e;
    }
  }

  /** What is done before a volume that was broken is opened anew. */
  public interface Mending {
    void run() throws IOException;
  }

  /**
   * Before a volume is opened that nobody uses any more: if it was broken, it is as after a power
   * cut.
   *
   * @param live as of that volume
   * @param first what has to be done before, if it was; if that fails it still counts as broken
   */
  public static void mend(Path live, Mending first) throws IOException {
    if (FilledBlocks.isBroken(live)) {
      first.run();
      Files.delete(live);
    }
  }

  private static String boot() throws IOException {
    return Files.readString(Path.of("/proc/sys/kernel/random/boot_id")).strip();
  }

  @Override
  public long size() {
    return file.size();
  }

  @Override
  public boolean readOnly() {
    return false;
  }

  private static long blockOf(long offset) {
    return offset / BLOCK;
  }

  /** The block behind the last one that the range touches. */
  private static long endOf(long offset, long length) {
    return Math.ceilDiv(offset + length, BLOCK);
  }

  @Override
  public boolean ready(long offset, long length) {
    return blocks.hasAll(blockOf(offset), endOf(offset, length));
  }

  @Override
  public void read(long offset, ByteBuffer into) throws IOException {
    var start = into.position();
    var known = blocks.losses();
    fetch(offset, into.remaining());
    file.read(offset, into);
    while (known != blocks.losses()) { // What was lost is taken once more.
      known = blocks.losses();
      into.position(start);
      fetch(offset, into.remaining());
      file.read(offset, into);
    }
  }

  @Override
  public boolean readNow(long offset, ByteBuffer into) throws IOException {
    var start = into.position();
    var known = blocks.losses();
    if (!ready(offset, into.remaining()) || !file.readNow(offset, into)) {
      return false;
    }
    if (known != blocks.losses()) {
      into.position(start);
      return false;
    }
    return true;
  }

  @Override
  public long transferTo(long offset, long length, SocketChannel target) throws IOException {
    return ready(offset, length) ? file.transferTo(offset, length, target) : 0;
  }

  @Override
  public void fetch(long offset, long length) throws IOException {
    var block = blockOf(offset);
    for (var end = endOf(offset, length); (block = blocks.next(block, end, false)) < end; ) {
      lastWanted = System.nanoTime();
      block = fillStretch(block, end);
    }
  }

  /** Fills what is missing from here to the end of the stretch; returns where that is. */
  private long fillStretch(long block, long end) throws IOException {
    var stop = Math.min(end, (block * BLOCK / STRETCH + 1) * STRETCH / BLOCK);
    var lock = lock(block * BLOCK);
    lock.lock();
    try {
      fill(block, stop);
    } finally {
      lock.unlock();
    }
    return stop;
  }

  private ReentrantLock lock(long offset) {
    return locks[(int) (offset / STRETCH % LOCKS)];
  }

  /** Who calls has the lock. */
  private void fill(long block, long end) throws IOException {
    for (var at = blocks.next(block, end, false); at < end; at = blocks.next(at, end, false)) {
      var run = Math.min(blocks.next(at, end, true), blocks.count());
      var known = blocks.losses();
      take(at * BLOCK, Math.min(run * BLOCK, file.size()));
      if (blocks.set(at, run, known)) {
        at = run;
      }
    }
  }

  private void take(long offset, long end) throws IOException {
    var known = Math.min(end, blocks.size());
    for (var at = offset; at < known; ) {
      var run = image.extents(at, known - at).getFirst();
      if (run.isHole()) {
        file.zero(at, run.length(), true);
      } else {
        copy(at, (int) run.length());
      }
      at += run.length();
    }
    if (known < end) {
      file.zero(known, end - known, true);
    }
  }

  private void copy(long offset, int length) throws IOException {
    var kept = buffers.poll();
    var buffer = kept == null ? ByteBuffer.allocateDirect(STRETCH) : kept;
    image.read(offset, buffer.clear().limit(length));
    file.write(offset, buffer.flip());
    var _ = buffers.offer(buffer); // One that failed may still be somebody's.
  }

  /** What changes a range whose blocks are there as far as they are not changed as a whole. */
  private interface Change {
    void apply(long offset, long length) throws IOException;
  }

  private void change(long offset, long length, Change change) throws IOException {
    long known;
    do {
      blocks.refuseIfBroken();
      known = blocks.losses();
      changeOnce(offset, length, change, known);
    } while (!blocks.written(known));
  }

  private void changeOnce(long offset, long length, Change change, long known) throws IOException {
    if (ready(offset, length)) {
      change.apply(offset, length);
      return;
    }
    for (var at = offset; at < offset + length; ) {
      var stop = Math.min(offset + length, (at / STRETCH + 1) * STRETCH);
      changeStretch(at, stop, change, known);
      at = stop;
    }
  }

  private void changeStretch(long offset, long end, Change change, long known) throws IOException {
    var lock = lock(offset);
    lock.lock();
    try {
      if (offset % BLOCK != 0) {
        fill(blockOf(offset), blockOf(offset) + 1);
      }
      if (end % BLOCK != 0 && end < file.size()) {
        fill(blockOf(end), blockOf(end) + 1);
      }
      change.apply(offset, end - offset);
      var _ = blocks.set(blockOf(offset), endOf(offset, end - offset), known);
    } finally {
      lock.unlock();
    }
  }

  @Override
  public void write(long offset, ByteBuffer from) throws IOException {
    var start = from.position();
    var limit = from.limit();
    change(
        offset,
        from.remaining(),
        (at, length) -> {
          var position = start + (int) (at - offset);
          file.write(at, from.limit(position + (int) length).position(position));
        });
    from.limit(limit).position(limit);
  }

  @Override
  public void zero(long offset, long length, boolean mayTrim) throws IOException {
    change(offset, length, (at, much) -> file.zero(at, much, mayTrim));
  }

  /** Blocks that are not there are made zeros if nobody needs any of them, and left otherwise. */
  @Override
  public void trim(long offset, long length) throws IOException {
    if (ready(offset, length)) {
      file.trim(offset, length);
      return;
    }
    var first = Math.ceilDiv(offset, BLOCK) * BLOCK;
    var end = offset + length == file.size() ? file.size() : blockOf(offset + length) * BLOCK;
    if (first < end) {
      zero(first, end - first, true);
    }
  }

  @Override
  public void flush() throws IOException {
    blocks.save(file::flush);
  }

  @Override
  public List<Extent> extents(long offset, long length) throws IOException {
    var out = new ArrayList<Extent>();
    var end = offset + length;
    for (var at = offset; at < end && out.size() < MOST_EXTENTS; ) {
      var there = blocks.has(blockOf(at));
      var stop = Math.min(end, blocks.next(blockOf(at), endOf(at, end - at), !there) * BLOCK);
      if (there) {
        var runs = file.extents(at, stop - at);
        out.addAll(runs.subList(0, Math.min(runs.size(), MOST_EXTENTS - out.size())));
        at = offset + out.stream().mapToLong(Extent::length).sum();
      } else if (stop > at) { // Else it has come just now.
        out.add(new Extent(stop - at, Extent.Kind.DATA));
        at = stop;
      }
    }
    return out;
  }

  /**
   * Takes some of what is missing.
   *
   * @return whether something was: if not, {@link #finish} can be tried
   */
  public boolean fillSome() throws IOException {
    if (lossesThen != blocks.losses()) {
      lossesThen = blocks.losses();
      filledUpTo = 0;
    }
    var block = blocks.next(filledUpTo, blocks.count(), false);
    filledUpTo = block;
    if (block >= blocks.count()) {
      buffers.clear();
      return false;
    }
    fillStretch(block, blocks.count());
    return true;
  }

  /** Whether all of it is there and lasts: then the image is needed no more. */
  public boolean finish() throws IOException {
    var known = blocks.losses();
    var whole = blocks.hasAll(0, blocks.count());
    flush();
    return whole && known == blocks.losses();
  }

  /** Whether it has lost what somebody wrote, and so takes nothing more. */
  public boolean isBroken() {
    return blocks.isBroken();
  }

  /** How long ago somebody had to wait for the image. */
  public Duration quiet() {
    return Duration.ofNanos(System.nanoTime() - lastWanted);
  }

  /** How much of it is there, from 0 to 100; 100 only if all is. */
  public int percent() {
    return (int) (blocks.filled() * 100 / blocks.count());
  }

  @Override
  public void close() throws IOException {
    file.close();
    blocks.close();
  }
}
