package dev.platter.node.volumes;

import dev.platter.image.raw.SparseFile;
import dev.platter.model.ByteSize;
import dev.platter.model.PlatterException;
import dev.platter.model.PlatterException.Code;
import dev.platter.node.durable.Durable;
import dev.platter.node.durable.FileMutex;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.time.Duration;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A directory whose files can share blocks. That is the pool's own where its file system can (XFS,
 * Btrfs); elsewhere an XFS of ours in a sparse file there, mounted beside it.
 *
 * <p>Two devices of one file would be two file systems that know nothing of each other, so the
 * file's device is looked for before one is made. It outlives the process, and the mount namespace
 * of a container: whoever comes next mounts the same device, which is the same file system, also
 * while volumes of it are in use.
 *
 * <p>Whoever has it open has it alone: records and devices are read once and believed.
 */
public final class VolumeDirectory implements AutoCloseable {
  /** What XFS itself takes, for its log and its tables, at most. */
  private static final long OWN_ROOM = 128L << 20;

  private static final int OWN_SHARE = 16;

  /** What an XFS takes that has no volumes: its log, and a little more. */
  private static final long EMPTY = 72L << 20;

  /** A file of ext4 has no more blocks than 32 bits can count; those of others can be larger. */
  private static final int COUNTED_BITS = 32;

  /**
   * What part of the disk is not promised: what is written takes more than its bytes, since file
   * systems note where they are.
   */
  private static final int RESERVE_SHARE = 50;

  /** Or it would take up to 2 GiB, written at once. */
  private static final String LOG = "size=64m";

  /** For one that is ending, as in an update. */
  private static final Duration PATIENCE = Duration.ofMinutes(1);

  private final FileMutex mutex;
  private final Path pool;
  private final @Nullable ByteSize limit;
  private final boolean ours;

  private VolumeDirectory(FileMutex mutex, Path pool, @Nullable ByteSize limit, boolean ours) {
    this.mutex = mutex;
    this.pool = pool;
    this.limit = limit;
    this.ours = ours;
  }

  /**
   * @param limit how much volumes and snapshots may take if all are written in full, even if the
   *     disk is smaller; null if no more than the disk has
   */
  public static VolumeDirectory open(Path pool, @Nullable ByteSize limit) throws IOException {
    return open(pool, limit, PATIENCE);
  }

  static VolumeDirectory open(Path pool, @Nullable ByteSize limit, Duration patience)
      throws IOException {
    Durable.makeDirectories(pool);
    var mutex = FileMutex.take(pool.resolve(".lock"), "the volumes in " + pool, patience);
    try {
      var file = file(pool);
      if (!Files.exists(file) && (hasVolumes(pool) || shares(pool))) {
        return new VolumeDirectory(mutex, pool, limit, false);
      }
      var directory = new VolumeDirectory(mutex, pool, limit, true);
      directory.mount();
      return directory;
    } catch (IOException | RuntimeException e) {
      mutex.close();
      throw e;
    }
  }

  private static Path file(Path pool) {
    return pool.resolve("volumes.xfs");
  }

  private static Path mountpoint(Path pool) {
    return pool.resolve("volumes");
  }

  /** Whoever made them found that blocks are shared; a disk that is full cannot be asked again. */
  private static boolean hasVolumes(Path pool) {
    return Files.exists(mountpoint(pool).resolve(VolumeStore.VOLUMES));
  }

  private static boolean shares(Path directory) throws IOException {
    var one = directory.resolve(".probe");
    var other = directory.resolve(".probe.shared");
    try {
      Files.deleteIfExists(one);
      Files.deleteIfExists(other);
      SparseFile.create(one, 4096);
      return SparseFile.share(one, other, 4096);
    } finally {
      Files.deleteIfExists(one);
      Files.deleteIfExists(other);
    }
  }

  private void mount() throws IOException {
    var file = file(pool);
    var wanted = size();
    if (!Files.exists(file)) {
      make(file, wanted);
    }
    SparseFile.grow(file, wanted);
    Durable.makeDirectories(mountpoint(pool));
    if (Mounts.at(mountpoint(pool)).isEmpty()) {
      try (var held = LoopDevices.attachToMount(file)) {
        Mounts.mount(held.device(), mountpoint(pool), "xfs", List.of("discard", "nouuid"));
      }
    }
    LoopDevices.grow(file);
    Tool.run("xfs_growfs", "-d", mountpoint(pool).toString());
  }

  private static void make(Path file, long size) throws IOException {
    if (!Files.readString(Path.of("/proc/filesystems")).contains("\txfs\n")) {
      Tool.attempt("modprobe", "xfs");
    }
    var temporary = file.resolveSibling(file.getFileName() + ".new");
    Files.deleteIfExists(temporary);
    SparseFile.create(temporary, size);
    try {
      Tool.run("mkfs.xfs", "-q", "-K", "-m", "reflink=1", "-l", LOG, temporary.toString());
    } catch (IOException e) {
      throw PlatterException.of(
          Code.UNAVAILABLE,
          "the file system of "
              + file.getParent()
              + " cannot share blocks, and no XFS can be made"
              + " there: "
              + e.getMessage(),
          "Give the pool a directory on XFS or Btrfs, or 300 MiB or more.",
          e);
    }
    Files.move(temporary, file, StandardCopyOption.ATOMIC_MOVE);
    Durable.syncDirectory(Durable.parent(file));
  }

  /** Of our file system, so that the limit fits into it. */
  private long size() throws IOException {
    return size(limit == null ? Files.getFileStore(pool).getTotalSpace() : limit.bytes());
  }

  /**
   * @param bytes of volumes
   */
  private long size(long bytes) throws IOException {
    return bytes > fitting() ? largest() : bytes + bytes / OWN_SHARE + OWN_ROOM;
  }

  private long largest() throws IOException {
    return (Files.getFileStore(pool).getBlockSize() << COUNTED_BITS) - OWN_ROOM;
  }

  /** What volumes may have at most of a file system of ours. */
  private long fitting() throws IOException {
    return (largest() - OWN_ROOM) / (OWN_SHARE + 1) * OWN_SHARE;
  }

  Path pool() {
    return pool;
  }

  /** Where volumes are. */
  Path path() {
    return ours ? mountpoint(pool) : pool.resolve("volumes");
  }

  /**
   * How much may be promised.
   *
   * @param written what volumes take already of a file system that is not ours
   */
  long limit(long written) throws IOException {
    if (limit != null) {
      return ours ? Math.min(limit.bytes(), fitting()) : limit.bytes();
    }
    var disk = Files.getFileStore(pool);
    var free = disk.getUsableSpace() - disk.getTotalSpace() / RESERVE_SHARE;
    return ours
        ? Math.min(free + SparseFile.onDisk(file(pool)) - EMPTY, fitting())
        : free + written;
  }

  /**
   * Unmounts a file system of ours that nobody uses; one that is used stays for who comes next. It
   * may be open for a while yet in copies of volumes that are detached already.
   */
  @Override
  public void close() throws IOException {
    try (mutex) {
      if (ours && !isUsed()) {
        Tool.attempt("umount", "--lazy", mountpoint(pool).toString());
        LoopDevices.detachAll(file(pool));
      }
    }
  }

  /** As the kernel does when a process is killed: all stays as it is, for anybody. */
  void abandon() throws IOException {
    mutex.close();
  }

  private boolean isUsed() throws IOException {
    var volumes = path().resolve(VolumeStore.VOLUMES);
    if (!Files.isDirectory(volumes)) {
      return false;
    }
    try (var files = Files.list(volumes)) {
      for (var file : files.toList()) {
        if (LoopDevices.isUsed(file)) {
          return true;
        }
      }
    }
    return false;
  }
}
