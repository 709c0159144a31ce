package dev.platter.block.lazy;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.concurrent.atomic.AtomicLongArray;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Which blocks of a volume are its own by now: a bit for each. There are two files of them, since a
 * process that is killed and a machine that loses power lose different things:
 *
 * <ul>
 *   <li>the <em>live</em> bits are mapped, so they are set at once and outlive the process, as the
 *       bytes do that it has written. The kernel writes both when it likes, so after a boot they
 *       mean nothing: they are believed only in the boot that their file names. A process goes by a
 *       copy of its own, since a page that cannot be written may come back as it was on the disk;
 *   <li>the <em>lasting</em> bits follow in {@link #save}, after the bytes have been synced. What
 *       is cut while they are written is some bits older, and so right.
 * </ul>
 *
 * <p>The kernel tells once that it could not store bytes, and not which; it forgets them, and the
 * next sync succeeds. So a sync that fails is a <em>loss</em>: live bits that do not last are taken
 * back, since their bytes come from the image again. Who has read or written bytes before he sets
 * or uses a bit says which losses he knew of, and does it again if there was another. If a guest
 * has written since the last sync that did well, its bytes are nowhere else: then the volume is
 * <em>broken</em>, also for the next process, and says so to every write and flush.
 */
final class FilledBlocks implements AutoCloseable {
  static final int BLOCK = 64 << 10;
  private static final int HEADER = 4096;
  private static final String MAGIC = "platter lazy volume 1\n";
  private static final int SIZE_AT = 64;
  private static final int BROKEN_AT = 128;

  private final Arena arena = Arena.ofShared();
  private final FileChannel lasting;
  private final MemorySegment header;
  private final MemorySegment live;
  private final AtomicLongArray words;
  private final long size;
  private final long blocks;
  private final ReentrantLock saving = new ReentrantLock();
  private long firstUnsaved = Long.MAX_VALUE;
  private long lastUnsaved = -1;

  /** Whether a guest's bytes have been written, or bits of them, that may not last yet. */
  private boolean written;

  private long losses;
  private volatile boolean broken;

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
      var mapped = mapped(live, boot);
      this.header = mapped.asSlice(0, HEADER);
      this.live = mapped.asSlice(HEADER);
      this.words = new AtomicLongArray(this.live.toArray(ValueLayout.JAVA_LONG));
      this.broken = header.get(ValueLayout.JAVA_BYTE, BROKEN_AT) != 0;
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
      written = true;
    } else {
      begin(file, name, length);
    }
    try (var channel = FileChannel.open(file, StandardOpenOption.READ, StandardOpenOption.WRITE)) {
      return channel.map(FileChannel.MapMode.READ_WRITE, 0, length, arena);
    }
  }

  private static boolean isOf(Path file, ByteBuffer name, long length) throws IOException {
    if (!Files.exists(file) || Files.size(file) != length) {
      return false;
    }
    try (var channel = FileChannel.open(file, StandardOpenOption.READ)) {
      var header = ByteBuffer.allocate(HEADER);
      read(channel, header, 0);
      return header.put(BROKEN_AT, (byte) 0).flip().equals(name);
    }
  }

  /**
   * Whether the volume was broken when it was last open. When whoever had it has it no more, the
   * file can go: the lasting bits are right for who is next.
   */
  static boolean isBroken(Path live) throws IOException {
    if (!Files.exists(live) || Files.size(live) < HEADER) {
      return false;
    }
    var header = ByteBuffer.allocate(HEADER);
    try (var channel = FileChannel.open(live, StandardOpenOption.READ)) {
      read(channel, header, 0);
    }
    return header.get(BROKEN_AT) != 0;
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
      channel.force(false); // It has its room from now on, also on a disk that fills up.
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
    return words.get((int) index);
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

  /** How often written bytes have been lost; not while bits are taken back. */
  synchronized long losses() {
    return losses;
  }

  boolean isBroken() {
    return broken;
  }

  void refuseIfBroken() throws IOException {
    if (broken) {
      throw new IOException(
          "what was written to the volume could not be stored, and may be lost: it takes nothing"
              + " more until all who use it have let it go");
    }
  }

  /**
   * Its bytes have been written before. Whoever sees the bit and has it saved finds it among those
   * that are to be saved.
   *
   * @param known losses before the bytes were written
   * @return whether the bytes are there: if not, they have to be written again
   */
  synchronized boolean set(long block, long end, long known) {
    if (known != losses) {
      return false;
    }
    var most = Math.min(end, blocks);
    for (var at = block; at < most; ) {
      var to = Math.min(most, (at / Long.SIZE + 1) * Long.SIZE);
      var mask = -1L >>> (Long.SIZE - (to - at)) << at;
      set(at / Long.SIZE, word(at / Long.SIZE) | mask);
      at = to;
    }
    if (block < most) {
      unsaved(block / Long.SIZE, (most - 1) / Long.SIZE);
    }
    return true;
  }

  private void set(long index, long word) {
    live.setAtIndex(ValueLayout.JAVA_LONG, index, word);
    words.set((int) index, word);
  }

  /** A guest's bytes have been written to blocks that are there; as {@link #set}. */
  synchronized boolean written(long known) throws IOException {
    refuseIfBroken();
    if (known != losses) {
      return false;
    }
    written = true;
    return true;
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
    boolean guests;
    synchronized (this) {
      refuseIfBroken();
      first = firstUnsaved;
      words = first > lastUnsaved ? new byte[0] : copy(first, lastUnsaved);
      firstUnsaved = Long.MAX_VALUE;
      lastUnsaved = -1;
      guests = written;
      written = false;
    }
    var saved = false;
    try {
      bytes.run();
      saved = true;
      if (words.length > 0) {
        write(lasting, ByteBuffer.wrap(words), HEADER + first * Long.BYTES);
        lasting.force(false);
      }
    } catch (IOException | RuntimeException e) {
      synchronized (this) {
        written |= guests;
        if (words.length > 0) {
          unsaved(first, first + words.length / Long.BYTES - 1);
        }
        if (!saved) { // Else the bits are written again by the next, and that is enough.
          lose(e);
        }
      }
      throw e;
    }
  }

  private synchronized void lose(Exception cause) throws IOException {
    losses++;
    try {
      if (!written) {
        takeBack();
        return;
      }
    } catch (IOException | InternalError e) {
      cause.addSuppressed(e);
    }
    broken = true;
    try {
      header.set(ValueLayout.JAVA_BYTE, BROKEN_AT, (byte) 1);
    } catch (InternalError e) { // There is no room for the page.
      cause.addSuppressed(e);
    }
    throw new IOException(
        "what was written to the volume could not be stored, and may be lost: "
            + cause.getMessage(),
        cause);
  }

  private void takeBack() throws IOException {
    for (var index = firstUnsaved; index <= lastUnsaved; index++) {
      var word = ByteBuffer.allocate(Long.BYTES).order(ByteOrder.nativeOrder());
      read(lasting, word, HEADER + index * Long.BYTES);
      set(index, word.getLong(0));
    }
    firstUnsaved = Long.MAX_VALUE;
    lastUnsaved = -1;
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
