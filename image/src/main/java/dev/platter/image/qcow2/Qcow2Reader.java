package dev.platter.image.qcow2;

import dev.platter.image.BadImageException;
import dev.platter.image.ByteSource;
import dev.platter.image.GuestDisk;
import dev.platter.image.raw.NativeFile;
import dev.platter.image.raw.RawTarget;
import java.io.Closeable;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.concurrent.ConcurrentLinkedDeque;
import java.util.concurrent.Semaphore;
import java.util.function.LongConsumer;
import org.jspecify.annotations.Nullable;

/**
 * Reads a qcow2 image that nobody vouches for, in bounded memory (see {@link Limits}) and in time
 * that the size of file and disk bound. Versions 2 and 3, all cluster sizes, zlib and zstd
 * clusters, extended L2. Internal snapshots are ignored: the disk is what the active table says.
 *
 * <p>Refused with {@link BadImageException}: from the header alone whatever leads to another file
 * or cannot be read; when opened, tables that leave the file or overlap, and clusters that are used
 * twice; when read, damaged compressed data. An image that qemu-img wrote is never refused, unless
 * it has a backing file, a data file or encryption.
 *
 * <p>Any number of threads may call {@link #read}. Like all of {@link FileChannel}, an interrupt
 * during a read closes the file.
 */
public final class Qcow2Reader implements GuestDisk, Closeable {
  private static final int MAX_THREADS = 4;
  private static final int MAX_COPY_THREADS = 32;

  private final Tables tables;
  private final @Nullable NativeFile file;
  private final Semaphore readers = new Semaphore(MAX_THREADS);
  private final ConcurrentLinkedDeque<Workspace> idle = new ConcurrentLinkedDeque<>();

  private Qcow2Reader(Tables tables, @Nullable NativeFile file) {
    this.tables = tables;
    this.file = file;
  }

  /** Looks at the header only: what must hold before QEMU may open a file that a user brought. */
  public static Qcow2Info checkHeader(Path path, Limits limits) throws IOException {
    try (FileChannel channel = FileChannel.open(path, StandardOpenOption.READ)) {
      return Header.read(ByteSource.of(channel), limits).info();
    }
  }

  /** Opens a file; it is closed with the reader. */
  public static Qcow2Reader open(Path path, Limits limits) throws IOException {
    NativeFile file = NativeFile.open(path);
    try {
      return new Qcow2Reader(Tables.load(ByteSource.of(file.channel()), limits), file);
    } catch (Throwable e) {
      file.close();
      throw e;
    }
  }

  /** Reads from a channel that stays the caller's. */
  public static Qcow2Reader open(FileChannel channel, Limits limits) throws IOException {
    return open(ByteSource.of(channel), limits);
  }

  /** Reads from bytes that stay the caller's. */
  public static Qcow2Reader open(ByteSource bytes, Limits limits) throws IOException {
    return new Qcow2Reader(Tables.load(bytes, limits), null);
  }

  /**
   * Reads from bytes that may be slow to come and stay the caller's: looks at the header and the L1
   * table only, at other tables when they are needed. Until {@link #check} has passed, one cluster
   * may show up in many places, so that a small file can stand for a large disk.
   */
  public static Qcow2Reader openLazily(ByteSource bytes, Limits limits) throws IOException {
    return new Qcow2Reader(Tables.loadUnchecked(bytes, limits), null);
  }

  /** What {@link #open} does and {@link #openLazily} leaves out. Reads every table. */
  public void check() throws IOException {
    tables.check();
  }

  @Override
  public long virtualSize() {
    return tables.header.virtualSize();
  }

  public int clusterSize() {
    return tables.header.clusterSize();
  }

  /** How much of the disk one L2 table describes; a power of two. */
  public long stretch() {
    return tables.header.l2Coverage();
  }

  /**
   * Whether the stretch of the disk around an offset is known to be zeros by the L1 table alone.
   */
  public boolean isEmptyStretch(long guestOffset) {
    return tables.l2Table(guestOffset / stretch()) == 0;
  }

  /**
   * Shows where in the file a range of the disk is, reading L2 tables only. Stretches are cut to
   * the range, except compressed clusters, which are shown whole.
   */
  public void visit(long from, long to, ExtentVisitor visitor) throws IOException {
    if (from < 0 || to > virtualSize()) {
      throw new IndexOutOfBoundsException("%d to %d of %d".formatted(from, to, virtualSize()));
    }
    // Not one of the limited readers: this may wait long for a table, with little memory.
    Workspace workspace = takeWorkspace();
    try {
      workspace.walk.walk(from, to, visitor);
    } finally {
      idle.push(workspace);
    }
  }

  private Workspace takeWorkspace() {
    Workspace workspace = idle.poll();
    return workspace == null ? new Workspace(tables) : workspace;
  }

  @Override
  public int read(long guestOffset, ByteBuffer into) throws IOException {
    if (guestOffset < 0) {
      throw new IllegalArgumentException("negative offset");
    }
    if (guestOffset >= virtualSize()) {
      return -1;
    }
    int length = (int) Math.min(into.remaining(), virtualSize() - guestOffset);
    readers.acquireUninterruptibly();
    try {
      Workspace workspace = takeWorkspace();
      try {
        workspace.walk.walk(
            guestOffset, guestOffset + length, new Fill(workspace, guestOffset, length, into));
      } finally {
        idle.push(workspace);
      }
    } finally {
      readers.release();
    }
    return length;
  }

  /**
   * Writes the disk in its raw form, with a thread for each processor. Where image and target are
   * files of one file system that can share blocks, clusters that are not compressed are shared;
   * all else is copied, but zeros only where they have to be. Not synced.
   *
   * @param progress is told how many bytes of the disk are done, never less than before
   */
  public void copyTo(RawTarget target, LongConsumer progress) throws IOException {
    copyTo(target, virtualSize(), progress);
  }

  /**
   * The same to a target that is larger than the disk: what lies behind the disk reads as zeros.
   *
   * @param room how large the target is
   */
  public void copyTo(RawTarget target, long room, LongConsumer progress) throws IOException {
    int threads = Math.min(Runtime.getRuntime().availableProcessors(), MAX_COPY_THREADS);
    target.begin(room);
    target.zero(virtualSize(), room - virtualSize());
    new RawExport(tables, file, target, progress).run(threads);
  }

  /** The same, into {@link RawTarget#of a channel}. */
  public void copyTo(FileChannel target, LongConsumer progress) throws IOException {
    copyTo(RawTarget.of(target), progress);
  }

  @Override
  public void visitData(Stretches visitor) throws IOException {
    new ExtentWalk(tables).walk(0, virtualSize(), new Show(visitor, clusterSize(), virtualSize()));
  }

  /** To be called when no read is under way. */
  @Override
  public void close() throws IOException {
    for (Workspace w = idle.poll(); w != null; w = idle.poll()) {
      w.close();
    }
    if (file != null) {
      file.close();
    }
  }

  private record Fill(Workspace workspace, long from, int length, ByteBuffer into)
      implements ExtentVisitor {
    @Override
    public void zero(long guest, long zeros) {
      Workspace.zero(into, (int) zeros);
    }

    @Override
    public void data(long guest, long host, long bytes) throws IOException {
      int limit = into.limit();
      into.limit(into.position() + (int) bytes);
      workspace.readPadded(into, host);
      into.limit(limit);
    }

    @Override
    public void compressed(long guest, long host, int packedBytes) throws IOException {
      ByteBuffer cluster = workspace.unpacked(host, packedBytes);
      long end = Math.min(from + length, guest + cluster.capacity());
      cluster.limit((int) (end - guest)).position((int) Math.max(0, from - guest));
      into.put(cluster);
    }
  }

  private record Show(Stretches visitor, int clusterSize, long end) implements ExtentVisitor {
    @Override
    public void zero(long guest, long zeros) {}

    @Override
    public void data(long guest, long host, long bytes) throws IOException {
      visitor.data(guest, bytes);
    }

    @Override
    public void compressed(long guest, long host, int packedBytes) throws IOException {
      visitor.data(guest, Math.min(clusterSize, end - guest));
    }
  }
}
