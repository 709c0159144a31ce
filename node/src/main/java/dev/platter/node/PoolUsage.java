package dev.platter.node;

import dev.platter.image.qcow2.Qcow2Overlay;
import dev.platter.image.raw.SparseFile;
import dev.platter.model.Pool;
import dev.platter.plan.StateLayout;
import dev.platter.plan.StepOwner;
import dev.platter.plan.VmKey;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/**
 * What the disks of VMs take in one pool. Nothing is counted along: files, plans and journals are
 * looked at anew each time, so a process that dies leaves no wrong number behind. Files that do not
 * have the name of a disk are somebody else's and do not count.
 */
record PoolUsage(List<DiskFile> files) {

  /**
   * @param vm whose it is; null if no VM that can be read
   * @param allocated what it takes of the file system
   * @param reserved what it will take at most, while a copy is being written to it
   * @param promised the size that the guest sees
   */
  record DiskFile(Path path, @Nullable VmKey vm, long allocated, long reserved, long promised) {
    long taken() {
      return Math.max(allocated, reserved);
    }
  }

  PoolUsage {
    files = List.copyOf(files);
  }

  long allocated() {
    return files.stream().mapToLong(DiskFile::allocated).sum();
  }

  long promised() {
    return files.stream().mapToLong(DiskFile::promised).sum();
  }

  /** Allocated, or about to be. */
  long taken() {
    return files.stream().mapToLong(DiskFile::taken).sum();
  }

  PoolUsage without(Path file) {
    return new PoolUsage(files.stream().filter(other -> !other.path().equals(file)).toList());
  }

  /**
   * Journals are read before files are looked at: a copy that is not reserved any more by then has
   * all its blocks.
   */
  static PoolUsage of(Pool pool, StateLayout layout) throws IOException {
    var reserved = new TreeMap<Path, Long>();
    var owners = new HashMap<UUID, VmKey>();
    for (var record : VmRecord.list(layout, _ -> {})) {
      owners.put(record.plan().uuid(), record.plan().key());
      reserved.putAll(reserved(record, layout));
    }
    reserved.keySet().removeIf(file -> !pool.directory().equals(file.getParent()));
    var files = new ArrayList<DiskFile>();
    for (var path : list(pool.directory())) {
      var owner = StateLayout.ownerOf(String.valueOf(path.getFileName()));
      if (owner.isPresent()) {
        file(path, owners.get(owner.get()), reserved.getOrDefault(path, 0L)).ifPresent(files::add);
        reserved.remove(path);
      }
    }
    reserved.forEach((path, bytes) -> files.add(new DiskFile(path, null, 0, bytes, bytes)));
    return new PoolUsage(files);
  }

  private static Map<Path, Long> reserved(VmRecord record, StateLayout layout) throws IOException {
    var out = new HashMap<Path, Long>();
    var journal = record.state(layout);
    var steps = record.plan().steps();
    if (journal.isPresent()) {
      for (var entry : journal.get().reserved().entrySet()) {
        // A VM may have been made anew between the look at its plan and at its journal.
        if (entry.getKey() < steps.size()) {
          StepOwner.file(steps.get(entry.getKey()))
              .ifPresent(file -> out.put(Path.of(file), entry.getValue()));
        }
      }
    }
    return out;
  }

  private static List<Path> list(Path directory) throws IOException {
    try (var entries = Files.list(directory)) {
      return entries.sorted().toList();
    } catch (NoSuchFileException e) {
      return List.of();
    }
  }

  /** Empty if it is no file, or is gone meanwhile. */
  private static Optional<DiskFile> file(Path path, @Nullable VmKey vm, long reserved)
      throws IOException {
    if (!Files.isRegularFile(path, LinkOption.NOFOLLOW_LINKS)) {
      return Optional.empty();
    }
    try {
      var promised = Math.max(virtualSize(path), reserved);
      return Optional.of(new DiskFile(path, vm, SparseFile.onDisk(path), reserved, promised));
    } catch (NoSuchFileException e) {
      return Optional.empty();
    }
  }

  /**
   * The name tells the format, never the content: in a raw file that is the guest's. One without a
   * suffix is a volume of a pod, which is a qcow2 file.
   */
  private static long virtualSize(Path path) throws IOException {
    var name = String.valueOf(path.getFileName());
    var qcow2 = name.endsWith(".qcow2") || name.indexOf('.') < 0;
    return qcow2 ? Qcow2Overlay.sizeOf(path) : Files.size(path);
  }
}
