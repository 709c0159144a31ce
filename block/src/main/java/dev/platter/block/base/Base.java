package dev.platter.block.base;

import dev.platter.block.Extent;
import dev.platter.block.ReadOnlyDevice;
import dev.platter.image.BadImageException;
import dev.platter.image.BootTrace;
import dev.platter.image.Digest;
import dev.platter.image.raw.NativeFile;
import java.io.EOFException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The disk of an image, read only, of which a part is here: a sparse raw file, and a map of the
 * blocks of 64 KiB in it that are there and verified. A block that is missing is made from the disk
 * file of the layer when somebody wants it.
 *
 * <p>Bytes reach the disk before the map says so. What was done in the last second before a crash
 * may be done again; nothing is served that was not verified. Blocks of zeros stay holes; of those
 * that a table of the image says are zeros, none is fetched.
 *
 * <p>Only one process may have a directory open, which is its owner's to see to.
 */
public final class Base implements ReadOnlyDevice {
  /** The unit in which a base is filled. */
  public static final int BLOCK = 64 << 10;

  /** The largest disk: its map takes 32 MiB. */
  public static final long MOST_BYTES = 8L << 40;

  private static final int MOST_BLOCKS_AT_ONCE = 64;

  private final Path directory;
  private final DiskFile file;
  private final NativeFile raw;
  private final BlockMap map;
  private final BlockFiller filler;
  private final Flights flights;
  private final Donor donor;
  private final Checkpoints checkpoints;
  private final long size;
  private volatile @Nullable Recorder recorder;
  private boolean named;
  private volatile boolean closed;

  private Base(Path directory, DiskFile file, DiskLayout layout, OpenFiles files)
      throws IOException {
    this.directory = directory;
    this.file = file;
    this.raw = files.raw();
    this.map = files.map();
    this.size = layout.size();
    this.flights = new Flights();
    this.filler = new BlockFiller(file, layout, raw, map);
    this.donor = new Donor(raw, filler::blocksOf);
    this.checkpoints = new Checkpoints(file.progress(), this::checkpoint);
  }

  /**
   * Opens the base of a layer, or begins it. Waits for the head of the disk file, so a prefetch is
   * best begun before.
   */
  public static Base open(Path directory, LayerFile file) throws IOException {
    DiskLayout layout = layout(file);
    Digest layer = file.origin().layer().digest();
    OpenFiles files = OpenFiles.resume(new BaseFiles(directory), layout.size(), layer);
    var base = new Base(directory, file, layout, files);
    file.onArrival((chunk, plain) -> base.arrived(chunk.fileOffset(), plain));
    return base.begin();
  }

  /** Begins the base of a layer that is streamed. Nothing of it outlives the process. */
  public static Base open(Path directory, StreamedFile file) throws IOException {
    DiskLayout layout = layout(file);
    OpenFiles files = OpenFiles.anew(new BaseFiles(directory), layout.size());
    return new Base(directory, file, layout, files).begin();
  }

  private static DiskLayout layout(DiskFile file) throws IOException {
    DiskLayout layout = DiskLayout.of(file, OpenFiles.LIMITS);
    if (layout.size() <= 0 || layout.size() > MOST_BYTES) {
      throw new BadImageException("a disk of " + layout.size() + " bytes");
    }
    return layout;
  }

  private Base begin() {
    filler.markEmptyStretches();
    checkpoints.start();
    return this;
  }

  Path directory() {
    return directory;
  }

  DiskFile file() {
    return file;
  }

  Donor donor() {
    return donor;
  }

  boolean isClosed() {
    return closed;
  }

  BlockFiller filler() {
    return filler;
  }

  @Override
  public long size() {
    return size;
  }

  /** How the disk lay in the image: {@code raw} or {@code qcow2}. */
  public String format() {
    return filler.format();
  }

  private static int blockAt(long offset) {
    return (int) (offset / BLOCK);
  }

  /** The block after the last one of a range. */
  private static int endBlock(long offset, long length) {
    return (int) Math.ceilDiv(offset + length, (long) BLOCK);
  }

  @Override
  public boolean ready(long offset, long length) {
    return map.hasAll(blockAt(offset), endBlock(offset, length));
  }

  @Override
  public void fetch(long offset, long length) throws IOException {
    fetchBlocks(blockAt(offset), endBlock(offset, length));
  }

  private void fetchBlocks(int first, int end) throws IOException {
    for (int at = first; at < end; at += MOST_BLOCKS_AT_ONCE) {
      int to = Math.min(end, at + MOST_BLOCKS_AT_ONCE);
      flights.until(at, to, map::has, filler::fill);
    }
  }

  /**
   * Fetches what a guest is going to read, in this order, many blocks at a time; returns when all
   * of it is here. A trace of a disk of another size is ignored: it is only advice.
   */
  public void prefetch(BootTrace trace) throws IOException {
    if (trace.virtualSize() != size) {
      return;
    }
    List<Integer> blocks = Arrays.stream(trace.blocks()).boxed().toList();
    for (int at = 0; at < blocks.size(); at += MOST_BLOCKS_AT_ONCE) {
      List<Integer> next = blocks.subList(at, Math.min(blocks.size(), at + MOST_BLOCKS_AT_ONCE));
      filler.bring(next);
      for (int block : next) {
        fetchBlocks(block, block + 1);
      }
    }
  }

  /** A chunk came that nobody may have asked for: its blocks are made while it is in memory. */
  private void arrived(long fileOffset, PlainChunk plain) throws IOException {
    for (int at = 0; at + BLOCK <= plain.bytes().length; at += BLOCK) {
      int block = filler.guestBlock(fileOffset + at);
      if (block >= 0 && !map.has(block)) {
        ByteBuffer bytes = ByteBuffer.wrap(plain.bytes(), at, BLOCK).slice();
        DiskFile.Sharing sharing = plain.sharing(at);
        flights.ifFree(block, () -> filler.write(block, bytes, sharing));
      }
    }
  }

  @Override
  public void read(long offset, ByteBuffer into) throws IOException {
    int length = into.remaining();
    if (!ready(offset, length)) {
      fetch(offset, length);
    }
    touched(offset, length);
    if (!Fully.read(raw.channel(), into, offset)) {
      throw new EOFException("the base was cut while in use");
    }
  }

  @Override
  public boolean readNow(long offset, ByteBuffer into) throws IOException {
    int length = into.remaining();
    if (!ready(offset, length) || !raw.readNow(into, offset)) {
      return false;
    }
    touched(offset, length);
    return true;
  }

  @Override
  public long transferTo(long offset, long length, SocketChannel target) throws IOException {
    if (!ready(offset, length)) {
      return 0;
    }
    touched(offset, length);
    return raw.channel().transferTo(offset, length, target);
  }

  @Override
  public List<Extent> extents(long offset, long length) {
    List<Extent> runs = new ArrayList<>();
    long end = offset + length;
    for (long at = offset; at < end && runs.size() < MOST_EXTENTS; ) {
      boolean zero = map.get(blockAt(at)) == BlockState.ZERO;
      long to = at;
      do {
        to = (to / BLOCK + 1) * BLOCK;
      } while (to < end && (map.get(blockAt(to)) == BlockState.ZERO) == zero);
      to = Math.min(to, end);
      runs.add(new Extent(to - at, zero ? Extent.Kind.HOLE : Extent.Kind.DATA));
      at = to;
    }
    return runs;
  }

  /** Begins to record in which order clients read, for so long or until {@link #trace}. */
  public void record(Duration most) {
    recorder = new Recorder(most);
  }

  /** Ends the recording and returns it; null if there was none. */
  public @Nullable BootTrace trace() {
    BootTrace all = traceSoFar();
    recorder = null;
    return all;
  }

  /** The recording, which goes on; null if there is none. */
  public @Nullable BootTrace traceSoFar() {
    Recorder recording = recorder;
    try {
      return recording == null ? null : BootTrace.of(size, recording.order());
    } catch (BadImageException e) {
      throw new IllegalStateException("reads lie within the disk", e);
    }
  }

  private void touched(long offset, long length) {
    Recorder recording = recorder;
    if (recording != null && length > 0) {
      recording.touch(blockAt(offset), blockAt(offset + length - 1));
    }
  }

  /**
   * Whether the layer was a stream and ended too early, for a reason that may be over: what has not
   * passed can only be read by a base that is opened anew.
   */
  public boolean isCut() {
    return !closed && file instanceof StreamedFile stream && stream.isCut();
  }

  public BaseStatus status() {
    BlockCounts blocks = map.count(0, map.blocks());
    Progress progress = file.progress();
    return new BaseStatus(
        size, blocks, progress.fetched.get(), blocks.copied() * BLOCK, progress.lastError());
  }

  /** The disk in so many parts of about equal size, or fewer, for drawing. */
  public List<BlockCounts> blockMap(int cells) {
    return map.parts(cells);
  }

  /**
   * The same of a base that nobody has open, or another process. Empty if nothing of it outlives
   * its process, as of a layer that is streamed.
   */
  public static List<BlockCounts> storedMap(Path directory, long size, int cells)
      throws IOException {
    int blocks = Math.toIntExact(Math.ceilDiv(size, (long) BLOCK));
    BlockMap stored = BlockMap.read(new BaseFiles(directory).map(), blocks, size);
    return stored == null ? List.of() : stored.parts(cells);
  }

  /** The first block that is missing at or after one; -1 if none is. */
  int nextMissing(int from) {
    int block = map.nextMissing(from);
    return block == map.blocks() ? -1 : block;
  }

  /** Makes a block and some of its neighbours, if missing. */
  void complete(int block) throws IOException {
    fetchBlocks(block, Math.min(map.blocks(), block + MOST_BLOCKS_AT_ONCE));
  }

  /** Makes durable what is there. */
  void sync() throws IOException {
    checkpoint();
    raw.channel().force(true);
  }

  private synchronized void checkpoint() throws IOException {
    if (file instanceof LayerFile layer) {
      layer.checkpoint();
    }
    map.checkpoint(this::forceBytes);
  }

  /** The first time also the files' names, which no bit may outlive. */
  private void forceBytes() throws IOException {
    raw.channel().force(!named);
    if (!named) {
      OpenFiles.sync(directory);
      named = true;
    }
  }

  /** Closes the disk file too; those who wait for blocks fail. */
  @Override
  public void close() throws IOException {
    closed = true;
    filler.stop();
    try {
      if (file instanceof LayerFile layer) {
        layer.stop();
      } else {
        file.close();
      }
      flights.close();
      checkpoints.close();
      checkpoint();
      filler.close();
    } finally {
      try (map;
          donor) {
        file.close();
      }
    }
  }
}
