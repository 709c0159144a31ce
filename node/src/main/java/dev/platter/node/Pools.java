package dev.platter.node;

import dev.platter.model.ByteSize;
import dev.platter.model.PlatterException;
import dev.platter.model.PlatterException.Code;
import dev.platter.model.Pool;
import dev.platter.node.durable.FileMutex;
import dev.platter.plan.StateLayout;
import dev.platter.plan.Step;
import dev.platter.plan.StepOwner;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * The pools of this machine, and who may put how much into them.
 *
 * <p>A limit is for what disks take when they are made. A copy takes as much as its size, at most,
 * so that much must be left; overlays and blank disks start with next to nothing, so they are
 * refused only where the limit is reached already. Left out: holding guests back who fill their
 * disks later, which a quota of the file system can do.
 *
 * <p>A copy that is being written has not taken yet what it will. How much that is stands in the
 * journal of its VM from before the copy until after it, and is written there under the one lock
 * under which everybody looks whether there is room. When the VM's start is undone, after a crash
 * as well, the journal says so, and nothing is reserved any more.
 */
final class Pools {
  private static final Duration PATIENCE = Duration.ofMinutes(1);

  private final StateLayout layout;
  private final Optional<Path> file;
  private @Nullable List<Pool> pools;

  /**
   * @param file the node's configuration, which is read when it is first needed
   */
  Pools(StateLayout layout, Optional<Path> file) {
    this.layout = layout;
    this.file = file;
  }

  /** Notes in a journal what a step is going to take. */
  interface Reservation {
    void of(long bytes) throws IOException;
  }

  synchronized List<Pool> list() throws IOException {
    if (pools == null) {
      pools =
          file.isPresent()
              ? NodeFiles.pools(file.get(), layout)
              : Pool.BUILT_IN.stream()
                  .sorted()
                  .map(name -> new Pool(name, layout.pool(name), null))
                  .toList();
    }
    return pools;
  }

  /** As plans name them. */
  Map<String, String> directories() throws IOException {
    return list().stream()
        .collect(Collectors.toMap(Pool::name, pool -> pool.directory().toString()));
  }

  List<PoolStatus> status() throws IOException {
    var out = new ArrayList<PoolStatus>();
    var identities = new IdentityRecords(layout).list();
    for (var pool : list()) {
      var usage = PoolUsage.of(pool, layout);
      var vms =
          usage.files().stream()
              .map(PoolUsage.DiskFile::vm)
              .filter(Objects::nonNull)
              .distinct()
              .sorted(Comparator.comparing(Objects::toString))
              .toList();
      out.add(
          new PoolStatus(
              pool,
              usage.allocated(),
              usage.promised(),
              free(pool),
              usage.files().size(),
              vms,
              identities.stream()
                  .filter(disk -> pool.directory().equals(disk.file().getParent()))
                  .map(disk -> disk.identity().key())
                  .toList()));
    }
    return out;
  }

  /** The built-in pools are made when they are first used. */
  private static long free(Pool pool) throws IOException {
    var directory = pool.directory();
    while (!Files.exists(directory) && directory.getParent() != null) {
      directory = directory.getParent();
    }
    return Files.getFileStore(directory).getUsableSpace();
  }

  /** Fails if one of the steps would make a file in a pool whose limit is reached. */
  void refuseFull(List<Step> steps) throws IOException {
    var touched = new LinkedHashSet<Limited>();
    for (var path :
        steps.stream().flatMap(step -> StepOwner.file(step).map(Path::of).stream()).toList()) {
      limited(path).ifPresent(touched::add);
    }
    for (var pool : touched) {
      var taken = PoolUsage.of(pool.pool(), layout).taken();
      if (taken >= pool.limit().bytes()) {
        throw full(pool, taken, "no disk can be made there");
      }
    }
  }

  /** Whether it matters how large a copy is. */
  boolean isLimited(Path file) throws IOException {
    return limited(file).isPresent();
  }

  /**
   * Fails if a copy does not fit; otherwise nobody else gets the room.
   *
   * @param most what the copy takes at most
   */
  void reserve(Path file, long most, Reservation reservation) throws IOException {
    var pool = limited(file);
    if (pool.isEmpty()) {
      return;
    }
    try (var _ = FileMutex.take(layout.poolsLock(), "the pools", PATIENCE)) {
      var taken = PoolUsage.of(pool.get().pool(), layout).without(file).taken();
      if (most > pool.get().limit().bytes() - taken) {
        throw full(
            pool.get(),
            taken,
            "a copy that can take " + ByteSize.of(most).rounded() + " does not fit");
      }
      reservation.of(most);
    }
  }

  private record Limited(Pool pool, ByteSize limit) {}

  /** A file in a directory that is not a pool any more is limited by nobody. */
  private Optional<Limited> limited(Path file) throws IOException {
    for (var pool : list()) {
      var limit = pool.limit();
      if (limit != null && pool.directory().equals(file.getParent())) {
        return Optional.of(new Limited(pool, limit));
      }
    }
    return Optional.empty();
  }

  private PlatterException full(Limited limited, long taken, String consequence) {
    var pool = limited.pool();
    return PlatterException.of(
        Code.UNAVAILABLE,
        "the pool "
            + pool.name()
            + " ("
            + pool.directory()
            + ") has a limit of "
            + limited.limit().rounded()
            + " and "
            + ByteSize.of(taken).rounded()
            + " of it are used or reserved: "
            + consequence,
        "Remove VMs and identities that have disks there ('platter pools -o wide' names them), use another"
            + " usage-type or copy mode, or raise "
            + Pool.LIMIT
            + pool.name()
            + file.map(path -> " in " + path).orElse("")
            + ".");
  }
}
