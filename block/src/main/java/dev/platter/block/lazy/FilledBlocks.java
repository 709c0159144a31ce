package dev.platter.block.lazy;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.VarHandle;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Which blocks of a volume are its own by now: a bit for each, never taken back. There are two
 * files of them, since a process that is killed and a machine that loses power lose different
 * things:
 *
 * <ul>
 *   <li>the <em>live</em> bits are mapped, so they are set at once and outlive the process, as the
 *       bytes do that it has written. The kernel writes both when it likes, so after a boot they
 *       mean nothing: they are believed only in the boot that their file names;
 *   <li>the <em>lasting</em> bits follow in {@link #save}, after the bytes have been synced. What
 *       is cut while they are written is some bits older, and so right.
 * </ul>
 */
final class FilledBlocks implements AutoCloseable {
  static final int BLOCK = 64 << 10;
  private static final int HEADER = 4096;
  private static final String MAGIC = "platter lazy volume 1\n";
  private static final int SIZE_AT = 64;
  private static final VarHandle WORD = ValueLayout.JAVA_LONG.varHandle();

  private final Arena arena = Arena.ofShared();
  private final FileChannel lasting;
  private final MemorySegment live;
  private final long size;
  private final long blocks;
  private final ReentrantLock saving = new ReentrantLock();
  private long firstUnsaved = Long.MAX_VALUE;
  private long lastUnsaved = -1;

  /** The first bytes of the file of lasting bits: no block is filled yet. */
  static byte[] none(long size) {
    var out = ByteBuffer.allocate(Math.toIntExact(HEADER + bytes(size)));
    out.order(ByteOrder.LITTLE_ENDIAN);
    out.put(MAGIC.getBytes(StandardCharsets.US_ASCII)).putLong(SIZE_AT, size);
    return out.array();
  }

  private static long bytes(long size) {
    return Math.ceilDiv(Math.ceilDiv(size, BLOCK), Long.SIZE) * Long.BYTES;
  }

  /**
   * @param boot by which the machine's boot is known
   */
  FilledBlocks(Path map, Path live, String boot) throws IOException {
    this.lasting = FileChannel.open(map, StandardOpenOption.READ, StandardOpenOption.WRITE);
    try {
      this.size = size(map);
      this.blocks = Math.ceilDiv(size, BLOCK);
      this.live = mapped(live, boot);
    } catch (Throwable e) {
      arena.close();
      lasting.close();
      throw e;
    }
  }

  private long size(Path map) throws IOException {
    var header = ByteBuffer.allocate(HEADER).order(ByteOrder.LITTLE_ENDIAN);
    read(lasting, header, 0);
    var magic = new byte[MAGIC.length()];
    header.get(0, magic);
    var said = header.getLong(SIZE_AT);
    if (!new String(magic, StandardCharsets.US_ASCII).equals(MAGIC)
        || said <= 0
        || lasting.size() != HEADER + bytes(said)) {
      throw new IOException(map + " does not say which blocks of its volume are there");
    }
    return said;
  }

  private MemorySegment mapped(Path file, String boot) throws IOException {
    var name = ByteBuffer.allocate(HEADER).put(boot.getBytes(StandardCharsets.US_ASCII)).rewind();
    var length = HEADER + bytes(size);
    if (isOf(file, name, length)) {
      unsaved(0, bytes(size) / Long.BYTES - 1); // As far as anybody knows.
    } else {
      begin(file, name, length);
    }
    try (var channel = FileChannel.open(file, StandardOpenOption.READ, StandardOpenOption.WRITE)) {
      return channel
          .map(FileChannel.MapMode.READ_WRITE, 0, length, arena)
          .asSlice(HEADER, length - HEADER);
    }
  }

  private static boolean isOf(Path file, ByteBuffer name, long length) throws IOException {
    if (!Files.exists(file) || Files.size(file) != length) {
      return false;
    }
    try (var channel = FileChannel.open(file, StandardOpenOption.READ)) {
      var header = ByteBuffer.allocate(HEADER);
      read(channel, header, 0);
      return header.flip().equals(name);
    }
  }

  /** With the lasting ones. Its first bytes come last: without them it counts for nothing. */
  private void begin(Path file, ByteBuffer name, long length) throws IOException {
    Files.deleteIfExists(file);
    try (var channel =
        FileChannel.open(file, StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE)) {
      for (var at = (long) HEADER; at < length; ) {
        var part = ByteBuffer.allocate((int) Math.min(1 << 20, length - at));
        read(lasting, part, at);
        write(channel, part.flip(), at);
        at += part.limit();
      }
      write(channel, name.duplicate(), 0);
    }
  }

  private static void read(FileChannel file, ByteBuffer into, long offset) throws IOException {
    for (var at = offset; into.hasRemaining(); ) {
      var n = file.read(into, at);
      if (n < 0) {
        throw new IOException("the file of a volume's blocks has been cut");
      }
      at += n;
    }
  }

  private static void write(FileChannel file, ByteBuffer from, long offset) throws IOException {
    for (var at = offset; from.hasRemaining(); ) {
      at += file.write(from, at);
    }
  }

  /** Of the image; what is behind that is the volume's from the beginning. */
  long size() {
    return size;
  }

  long count() {
    return blocks;
  }

  boolean has(long block) {
    return block >= blocks || (word(block / Long.SIZE) >>> block & 1) != 0;
  }

  private long word(long index) {
    return (long) WORD.getVolatile(live, index * Long.BYTES);
  }

  /** The first block from here on that is filled, or is not; {@code end} if there is none. */
  long next(long block, long end, boolean filled) {
    var most = Math.min(end, blocks);
    for (var at = block; at < most; ) {
      var word = word(at / Long.SIZE);
      var wanted = (filled ? word : ~word) >>> at;
      if (wanted != 0) {
        var found = at + Long.numberOfTrailingZeros(wanted);
        return found < most ? found : filled ? most : end;
      }
      at = (at / Long.SIZE + 1) * Long.SIZE;
    }
    return filled ? Math.min(end, Math.max(block, most)) : end;
  }

  boolean hasAll(long block, long end) {
    return next(block, end, false) == end;
  }

  /**
   * Its bytes have been written before. Whoever sees the bit and has it saved finds it among those
   * that are to be saved.
   */
  synchronized void set(long block, long end) {
    var most = Math.min(end, blocks);
    for (var at = block; at < most; ) {
      var to = Math.min(most, (at / Long.SIZE + 1) * Long.SIZE);
      var mask = -1L >>> (Long.SIZE - (to - at)) << at;
      var _ = (long) WORD.getAndBitwiseOr(live, at / Long.SIZE * Long.BYTES, mask);
      at = to;
    }
    if (block < most) {
      unsaved(block / Long.SIZE, (most - 1) / Long.SIZE);
    }
  }

  private synchronized void unsaved(long first, long last) {
    firstUnsaved = Math.min(firstUnsaved, first);
    lastUnsaved = Math.max(lastUnsaved, last);
  }

  long filled() {
    var out = 0L;
    for (var index = 0L; index * Long.SIZE < blocks; index++) {
      out += Long.bitCount(word(index));
    }
    return out;
  }

  /** Makes bytes of the volume last. */
  interface Sync {
    void run() throws IOException;
  }

  /**
   * The bits that are set now last when this returns, as do the bytes that they speak of. One at a
   * time: who finds nothing to save must not return before who found it has saved it.
   */
  void save(Sync bytes) throws IOException {
    saving.lock();
    try {
      saveAlone(bytes);
    } finally {
      saving.unlock();
    }
  }

  private void saveAlone(Sync bytes) throws IOException {
    long first;
    byte[] words;
    synchronized (this) {
      first = firstUnsaved;
      words = first > lastUnsaved ? new byte[0] : copy(first, lastUnsaved);
      firstUnsaved = Long.MAX_VALUE;
      lastUnsaved = -1;
    }
    try {
      bytes.run();
      if (words.length > 0) {
        write(lasting, ByteBuffer.wrap(words), HEADER + first * Long.BYTES);
        lasting.force(false);
      }
    } catch (IOException | RuntimeException e) {
      if (words.length > 0) {
        unsaved(first, first + words.length / Long.BYTES - 1);
      }
      throw e;
    }
  }

  private byte[] copy(long first, long last) {
    var out = ByteBuffer.allocate(Math.toIntExact((last - first + 1) * Long.BYTES));
    out.order(ByteOrder.nativeOrder());
    for (var index = first; index <= last; index++) {
      out.putLong(word(index));
    }
    return out.array();
  }

  @Override
  public void close() throws IOException {
    arena.close();
    lasting.close();
  }
}
