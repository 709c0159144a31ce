package dev.platter.block.base;

import dev.platter.image.Digest;
import java.io.Closeable;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.List;
import java.util.concurrent.atomic.AtomicLongArray;
import org.jspecify.annotations.Nullable;

/**
 * The state of every block, two bits each, in memory and perhaps in a file.
 *
 * <p>A block that is not missing stays what it is. In memory it counts at once; in the file it
 * stands only after its bytes are on the disk. Since the file only gains bits, each of them true,
 * it may be caught in the middle of a write at any time: any mixture of old and new is true too.
 */
final class BlockMap implements Closeable {
  private static final long MAGIC = 0x504c544d50303031L; // PLTMP001
  private static final int HEADER = 4096;
  private static final int PAGE_WORDS = 512;
  private static final int IN_WORD = 32;
  private static final long LOW_BITS = 0x5555555555555555L;

  private final int blocks;
  private final AtomicLongArray words;
  private final BitSet dirtyPages = new BitSet();
  private final @Nullable FileChannel file;

  private BlockMap(int blocks, @Nullable FileChannel file) {
    this.blocks = blocks;
    this.words = new AtomicLongArray(Math.ceilDiv(blocks, IN_WORD));
    this.file = file;
  }

  /** All missing, and gone with the process. */
  static BlockMap inMemory(int blocks) {
    return new BlockMap(blocks, null);
  }

  /** Writes a new file, all missing. It is synced with its first bits. */
  static BlockMap create(Path path, int blocks, long size, Digest layer) throws IOException {
    FileChannel file =
        FileChannel.open(
            path,
            StandardOpenOption.CREATE,
            StandardOpenOption.TRUNCATE_EXISTING,
            StandardOpenOption.WRITE);
    var map = new BlockMap(blocks, file);
    try {
      long end = HEADER + 8L * map.words.length();
      Fully.write(file, ByteBuffer.allocate(1), end - 1);
      Fully.write(file, header(size, layer), 0);
      return map;
    } catch (Throwable e) {
      file.close();
      throw e;
    }
  }

  /** Goes on with a file; null if it is not the map of this layer and size. */
  static @Nullable BlockMap open(Path path, int blocks, long size, Digest layer)
      throws IOException {
    FileChannel file =
        FileChannel.open(
            path, StandardOpenOption.CREATE, StandardOpenOption.READ, StandardOpenOption.WRITE);
    try {
      var map = new BlockMap(blocks, file);
      ByteBuffer header = header(size, layer);
      ByteBuffer found = ByteBuffer.allocate(header.limit());
      if (file.size() == HEADER + 8L * map.words.length()
          && Fully.read(file, found, 0)
          && found.flip().equals(header)
          && map.load(file)) {
        return map;
      }
    } catch (Throwable e) {
      file.close();
      throw e;
    }
    file.close();
    return null;
  }

  /**
   * What a file says that its owner may be writing to: any mixture of old and new is true. Null if
   * it is not there, or no map of a disk of this size.
   */
  static @Nullable BlockMap read(Path path, int blocks, long size) throws IOException {
    var map = new BlockMap(blocks, null);
    try (FileChannel file = FileChannel.open(path, StandardOpenOption.READ)) {
      ByteBuffer found = ByteBuffer.allocate(16);
      boolean whole =
          file.size() == HEADER + 8L * map.words.length()
              && Fully.read(file, found, 0)
              && found.flip().getLong() == MAGIC
              && found.getLong() == size
              && map.load(file);
      return whole ? map : null;
    } catch (NoSuchFileException e) {
      return null;
    }
  }

  private static ByteBuffer header(long size, Digest layer) {
    byte[] digest = layer.bytes();
    return ByteBuffer.allocate(48).putLong(MAGIC).putLong(size).put(digest).flip();
  }

  private boolean load(FileChannel file) throws IOException {
    ByteBuffer page = ByteBuffer.allocate(8 * PAGE_WORDS).order(ByteOrder.LITTLE_ENDIAN);
    for (int i = 0; i < words.length(); i += PAGE_WORDS) {
      int count = Math.min(PAGE_WORDS, words.length() - i);
      if (!Fully.read(file, page.clear().limit(8 * count), HEADER + 8L * i)) {
        return false;
      }
      page.flip();
      for (int j = 0; j < count; j++) {
        words.set(i + j, page.getLong());
      }
    }
    return true;
  }

  int blocks() {
    return blocks;
  }

  private int bits(int block) {
    return (int) (words.get(block / IN_WORD) >>> (2 * (block % IN_WORD)) & 3);
  }

  boolean has(int block) {
    return bits(block) != 0;
  }

  boolean hasAll(int first, int end) {
    for (int block = first; block < end; block++) {
      if (!has(block)) {
        return false;
      }
    }
    return true;
  }

  BlockState get(int block) {
    return BlockState.of(bits(block));
  }

  /** To be called when the bytes are written. Changes nothing if the block is there already. */
  void set(int block, BlockState state) {
    int index = block / IN_WORD;
    int shift = 2 * (block % IN_WORD);
    long before;
    do {
      before = words.get(index);
      if ((before >>> shift & 3) != 0) {
        return;
      }
    } while (!words.compareAndSet(index, before, before | (long) state.bits << shift));
    if (file != null) {
      synchronized (dirtyPages) {
        dirtyPages.set(index / PAGE_WORDS);
      }
    }
  }

  /** The first missing block at or after one; {@link #blocks} if there is none. */
  int nextMissing(int from) {
    for (int block = from; block < blocks; ) {
      long word = words.get(block / IN_WORD);
      long free = ~(word | word >>> 1) & LOW_BITS & (-1L << (2 * (block % IN_WORD)));
      if (free != 0) {
        return Math.min(blocks, block / IN_WORD * IN_WORD + Long.numberOfTrailingZeros(free) / 2);
      }
      block = (block / IN_WORD + 1) * IN_WORD;
    }
    return blocks;
  }

  BlockCounts count(int first, int end) {
    long[] counts = new long[4];
    int block = first;
    for (; block < end && block % IN_WORD != 0; block++) {
      counts[bits(block)]++;
    }
    for (; block + IN_WORD <= end; block += IN_WORD) {
      long word = words.get(block / IN_WORD);
      long low = word & LOW_BITS;
      long high = word >>> 1 & LOW_BITS;
      int both = Long.bitCount(low & high);
      int fetched = Long.bitCount(low) - both;
      int zero = Long.bitCount(high) - both;
      counts[0] += IN_WORD - both - fetched - zero;
      counts[1] += fetched;
      counts[2] += zero;
      counts[3] += both;
    }
    for (; block < end; block++) {
      counts[bits(block)]++;
    }
    return new BlockCounts(counts[0], counts[1], counts[2], counts[3]);
  }

  /** All blocks in so many parts of about equal size, or fewer. */
  List<BlockCounts> parts(int most) {
    int count = Math.min(most, blocks);
    List<BlockCounts> parts = new ArrayList<>(count);
    for (int i = 0; i < count; i++) {
      int first = (int) ((long) blocks * i / count);
      int end = (int) ((long) blocks * (i + 1) / count);
      parts.add(count(first, end));
    }
    return parts;
  }

  /** Forces bytes to the disk. */
  @FunctionalInterface
  interface Force {
    void run() throws IOException;
  }

  /** Writes what was set before, after {@code data} was forced. By one thread at a time. */
  void checkpoint(Force data) throws IOException {
    FileChannel target = file;
    BitSet pages;
    synchronized (dirtyPages) {
      pages = (BitSet) dirtyPages.clone();
      dirtyPages.clear();
    }
    if (target == null || pages.isEmpty()) {
      return;
    }
    try {
      // What is read here was set after its bytes were written, so forcing covers them.
      ByteBuffer[] copies = pages.stream().mapToObj(this::page).toArray(ByteBuffer[]::new);
      data.run();
      int[] numbers = pages.stream().toArray();
      for (int i = 0; i < numbers.length; i++) {
        Fully.write(target, copies[i], HEADER + 8L * PAGE_WORDS * numbers[i]);
      }
      target.force(false);
    } catch (IOException e) {
      synchronized (dirtyPages) {
        dirtyPages.or(pages);
      }
      throw e;
    }
  }

  private ByteBuffer page(int number) {
    int first = number * PAGE_WORDS;
    int count = Math.min(PAGE_WORDS, words.length() - first);
    ByteBuffer bytes = ByteBuffer.allocate(8 * count).order(ByteOrder.LITTLE_ENDIAN);
    for (int i = 0; i < count; i++) {
      bytes.putLong(words.get(first + i));
    }
    return bytes.flip();
  }

  @Override
  public void close() throws IOException {
    if (file != null) {
      file.close();
    }
  }
}
