package dev.platter.block.base;

import dev.platter.image.Chunk;
import dev.platter.image.Digest;
import dev.platter.image.qcow2.ExtentVisitor;
import dev.platter.image.raw.NativeFile;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.BitSet;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentLinkedDeque;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * Makes blocks of a base from the disk file. Tables of the disk file are read when the first block
 * of the stretch that they describe is wanted; then all blocks of the stretch that are zeros are
 * known.
 */
final class BlockFiller {
  private static final int BLOCK = Base.BLOCK;
  private static final MemorySegment ZEROS = MemorySegment.ofArray(new byte[BLOCK]);
  private static final int MOST_BLOCKS = 16;

  private final DiskFile file;
  private final DiskLayout layout;
  private final NativeFile raw;
  private final BlockMap map;
  private final long size;
  private final long group;
  private final GuestBlocks guestBlocks;
  private final Map<Digest, Integer> chunks;
  private final BitSet scanned = new BitSet();
  private final ReentrantLock[] scanning = new ReentrantLock[16];
  private final ConcurrentLinkedDeque<ByteBuffer> buffers = new ConcurrentLinkedDeque<>();
  private volatile boolean cannotShare;
  private final Stop stop = new Stop();
  private final PatientWriter writer;

  BlockFiller(DiskFile file, DiskLayout layout, NativeFile raw, BlockMap map) throws IOException {
    this.file = file;
    this.layout = layout;
    this.raw = raw;
    this.map = map;
    this.writer = new PatientWriter(file.progress(), stop);
    this.size = layout.size();
    this.group = Math.max(layout.stretch(), BLOCK);
    this.guestBlocks = new GuestBlocks(Math.ceilDiv(file.size(), (long) BLOCK));
    Arrays.setAll(scanning, _ -> new ReentrantLock());
    this.chunks =
        file instanceof LayerFile layer ? numbers(layer.origin().file().chunks()) : Map.of();
  }

  private static Map<Digest, Integer> numbers(List<Chunk> chunks) {
    Map<Digest, Integer> numbers = HashMap.newHashMap(chunks.size());
    for (int i = 0; i < chunks.size(); i++) {
      numbers.put(chunks.get(i).digest(), i);
    }
    return numbers;
  }

  String format() {
    return layout.format();
  }

  /** Marks what is known to be zeros without reading any table. */
  void markEmptyStretches() {
    for (long at = 0; at < size; at += group) {
      boolean empty = true;
      long end = Math.min(size, at + group);
      for (long part = at; part < end && empty; part += layout.stretch()) {
        empty = layout.isEmptyStretch(part);
      }
      if (empty) {
        markZero(at, end);
      }
    }
  }

  private void markZero(long from, long to) {
    long end = to == size ? Math.ceilDiv(size, (long) BLOCK) : to / BLOCK;
    for (int block = (int) Math.ceilDiv(from, (long) BLOCK); block < end; block++) {
      map.set(block, BlockState.ZERO);
    }
  }

  /** Reads all tables. */
  void scanAll() throws IOException {
    for (long at = 0; at < size; at += group) {
      scan((int) (at / group));
    }
  }

  private boolean isScanned(int number) {
    synchronized (scanned) {
      return scanned.get(number);
    }
  }

  private void scan(int number) throws IOException {
    if (isScanned(number)) {
      return;
    }
    ReentrantLock lock = scanning[number % scanning.length];
    lock.lock();
    try {
      if (!isScanned(number)) {
        long from = number * group;
        layout.visit(from, Math.min(size, from + group), new Scan());
        synchronized (scanned) {
          scanned.set(number);
        }
      }
    } finally {
      lock.unlock();
    }
  }

  private final class Scan implements ExtentVisitor {
    @Override
    public void zero(long guest, long length) {
      markZero(guest, guest + length);
    }

    @Override
    public void data(long guest, long host, long length) {
      if (guest % BLOCK == host % BLOCK) {
        long skip = (BLOCK - guest % BLOCK) % BLOCK;
        for (long at = skip; at + BLOCK <= length; at += BLOCK) {
          guestBlocks.put((host + at) / BLOCK, (int) ((guest + at) / BLOCK));
        }
      }
    }

    @Override
    public void compressed(long guest, long host, int length) {}
  }

  /** The block of the disk that lies at a place of the file; -1 if none is known. */
  int guestBlock(long fileOffset) {
    return fileOffset % BLOCK == 0 ? guestBlocks.get(fileOffset / BLOCK) : -1;
  }

  /** The blocks that a chunk is made of, if all of them are here; else null. */
  int @Nullable [] blocksOf(Digest digest) {
    int[] blocks = knownBlocksOf(digest);
    return blocks != null && Arrays.stream(blocks).allMatch(map::has) ? blocks : null;
  }

  private int @Nullable [] knownBlocksOf(Digest digest) {
    Integer index = chunks.get(digest);
    if (index == null || !(file instanceof LayerFile layer)) {
      return null;
    }
    Chunk chunk = layer.origin().file().chunks().get(index);
    return guestBlocks.of(chunk.fileOffset(), chunk.plainSize());
  }

  /** Whether a chunk has blocks that are not here yet, or something of which that is not known. */
  boolean wants(Chunk chunk) {
    int[] blocks = guestBlocks.of(chunk.fileOffset(), chunk.plainSize());
    return blocks == null || !Arrays.stream(blocks).allMatch(map::has);
  }

  /** All chunks that are made of whole blocks, when all tables were read. */
  Map<Digest, int[]> index() {
    Map<Digest, int[]> index = new HashMap<>();
    for (Digest digest : chunks.keySet()) {
      int[] blocks = knownBlocksOf(digest);
      if (blocks != null) {
        index.put(digest, blocks);
      }
    }
    return index;
  }

  void check() throws IOException {
    layout.check();
  }

  /** Makes blocks, of which some may turn out to be there. All that they need comes at once. */
  void fill(int first, int end) throws IOException {
    for (int block = first; block < end; block++) {
      scan((int) (block * (long) BLOCK / group));
    }
    var places = new Places(first, end);
    List<Run> runs = missingRuns(first, end);
    for (Run run : runs) {
      layout.visit(run.from(), run.to(size), places);
    }
    file.bring(places.ranges.list());
    for (Run run : runs) {
      fill(run, places);
    }
  }

  /** Waits until all that these blocks need has come, however they are spread. */
  void bring(List<Integer> blocks) throws IOException {
    var wanted = new Ranges();
    for (int block : blocks) {
      scan((int) (block * (long) BLOCK / group));
      if (!map.has(block)) {
        var run = new Run(block, block + 1);
        var places = new Places(run.first(), run.end());
        layout.visit(run.from(), run.to(size), places);
        wanted.addAll(places.ranges.list());
      }
    }
    file.bring(wanted.list());
  }

  private record Run(int first, int end) {
    long from() {
      return (long) first * BLOCK;
    }

    long to(long size) {
      return Math.min(size, (long) end * BLOCK);
    }
  }

  /** Each short enough for a buffer. */
  private List<Run> missingRuns(int first, int end) {
    List<Run> runs = new ArrayList<>();
    for (int from = map.nextMissing(first); from < end; ) {
      int to = from + 1;
      while (to < end && to - from < MOST_BLOCKS && !map.has(to)) {
        to++;
      }
      runs.add(new Run(from, to));
      from = map.nextMissing(to);
    }
    return runs;
  }

  private void fill(Run run, Places places) throws IOException {
    ByteBuffer buffer = borrow();
    try {
      int length = (int) (run.to(size) - run.from());
      layout.read(run.from(), buffer.clear().limit(length));
      for (int block = run.first(); block < run.end(); block++) {
        int start = (block - run.first()) * BLOCK;
        long host = places.host(block);
        ByteBuffer bytes = buffer.slice(start, Math.min(BLOCK, length - start));
        write(block, bytes, host < 0 ? null : file.sharing(host));
      }
    } finally {
      buffers.push(buffer);
    }
  }

  private ByteBuffer borrow() {
    ByteBuffer buffer = buffers.poll();
    return buffer == null ? ByteBuffer.allocateDirect(MOST_BLOCKS * BLOCK) : buffer;
  }

  /** Where in the file blocks are: all of it as ranges, and blocks that lie there as they are. */
  private static final class Places implements ExtentVisitor {
    final Ranges ranges = new Ranges();
    private final long[] hosts;
    private final int first;

    Places(int first, int end) {
      this.first = first;
      this.hosts = new long[end - first];
      Arrays.fill(hosts, -1);
    }

    /** -1 if the block is not in one piece in the file. */
    long host(int block) {
      return hosts[block - first];
    }

    @Override
    public void zero(long guest, long length) {}

    @Override
    public void data(long guest, long host, long length) {
      ranges.add(new Range(host, host + length));
      long skip = (BLOCK - guest % BLOCK) % BLOCK;
      for (long at = skip; at + BLOCK <= length; at += BLOCK) {
        hosts[(int) ((guest + at) / BLOCK) - first] = host + at;
      }
    }

    @Override
    public void compressed(long guest, long host, int length) {
      ranges.add(new Range(host, host + length));
    }
  }

  /** Writes verified bytes of a block and says that it is there. */
  void write(int block, ByteBuffer bytes, DiskFile.@Nullable Sharing sharing) throws IOException {
    long position = (long) block * BLOCK;
    int length = bytes.remaining();
    if (MemorySegment.mismatch(MemorySegment.ofBuffer(bytes), 0, length, ZEROS, 0, length) < 0) {
      map.set(block, BlockState.ZERO);
      return;
    }
    boolean shared =
        sharing != null && !cannotShare && length == BLOCK && sharing.into(raw, position);
    if (!shared) {
      cannotShare |= sharing != null;
      writer.write(raw.channel(), bytes, position);
    }
    map.set(block, sharing == null ? BlockState.FETCHED : BlockState.COPIED);
  }

  /** Lets nobody wait for room any more. */
  void stop() {
    stop.give();
  }

  /** To be called when nobody fills any more. */
  void close() throws IOException {
    layout.close();
  }
}
