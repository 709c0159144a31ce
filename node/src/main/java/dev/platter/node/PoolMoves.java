package dev.platter.node;

import dev.platter.image.raw.SparseCopy;
import dev.platter.image.raw.SparseFile;
import dev.platter.model.IdentityKey;
import dev.platter.model.PlatterException;
import dev.platter.model.PlatterException.Code;
import dev.platter.node.IdentityRecords.Stage;
import dev.platter.node.durable.Cancellation;
import dev.platter.node.durable.Durable;
import dev.platter.node.durable.FileMutex;
import dev.platter.plan.IdentityPlan;
import dev.platter.plan.NodeFacts.IdentityPlace;
import dev.platter.plan.StateLayout;
import java.io.IOException;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;

/**
 * Moves the disk of an identity to another pool of this machine.
 *
 * <p>The identity has two records meanwhile: the new disk is {@code COMING}, and the old one {@code
 * LEAVING}, so that no VM can have it. A disk that goes to another machine, or comes from there,
 * has one of them only. The new one's name in {@code READY} decides which counts.
 *
 * <p>A lock of its own is held all the time, that of the identities only before and after the copy.
 * Who finds two records and gets that lock knows that a process died. Then the disk that counts is
 * ready, and the other goes.
 */
final class PoolMoves {
  private static final Duration PATIENCE = Duration.ofMinutes(1);

  private final StateLayout layout;
  private final IdentityDisks disks;
  private final StepRunner runner;
  private final Pools pools;
  private final Machine machine;
  private final Progress progress;
  private final IdentityRecords records;

  PoolMoves(
      StateLayout layout,
      IdentityDisks disks,
      StepRunner runner,
      Pools pools,
      Machine machine,
      Progress progress) {
    this.layout = layout;
    this.disks = disks;
    this.runner = runner;
    this.pools = pools;
    this.machine = machine;
    this.progress = progress;
    this.records = new IdentityRecords(layout);
  }

  IdentityDisk move(IdentityKey key, String pool) throws IOException {
    try (var _ = FileMutex.take(layout.poolMovesLock(), "the moves of identities", PATIENCE)) {
      IdentityDisk old;
      IdentityDisk moved;
      try (var _ = disks.lock()) {
        disks.recover();
        settle();
        old = movable(key);
        if (old.place().pool().equals(pool)) {
          return old;
        }
        moved = new IdentityDisk(old.identity(), place(old, pool), old.made());
        begin(moved);
      }
      try {
        copy(old, moved);
        try (var _ = disks.lock()) {
          records.move(key, Stage.COMING, Stage.READY);
          records.sync(Stage.READY, Stage.COMING);
        }
      } finally {
        Cancellation.shield(this::settleAlone);
      }
      runner.poolsChanged(IdentityMaker.plan(layout, machine.libvirt(), List.of(moved)));
      return moved;
    }
  }

  private IdentityDisk movable(IdentityKey key) throws IOException {
    var found = records.find(key);
    if (found.isEmpty()) {
      throw IdentityDisks.missing(key);
    }
    if (found.get().identity().uid() != null) {
      throw PlatterException.of(
          Code.UNSUPPORTED,
          "the identity " + key + " is a cluster's",
          "'kubectl platter identity move' moves it to another node.");
    }
    return found.get();
  }

  private IdentityPlace place(IdentityDisk old, String pool) throws IOException {
    var directory = pools.directories().get(pool);
    if (directory == null) {
      throw PlatterException.of(
          Code.NOT_FOUND, "this machine has no pool " + pool, "'platter pools' lists them.");
    }
    return IdentityPlan.place(old.identity(), old.place().digest(), pool, directory);
  }

  /** The stage is changed first and VMs are looked for then, as VMs do it the other way round. */
  private void begin(IdentityDisk moved) throws IOException {
    var key = moved.identity().key();
    var plan = IdentityMaker.plan(layout, machine.libvirt(), List.of(moved));
    runner.preparePools(plan, plan.steps());
    runner.refuseForeign(plan, IdentityPlan.overlay(moved.identity(), moved.place(), layout));
    records.begin(moved);
    records.move(key, Stage.READY, Stage.LEAVING);
    records.sync(Stage.LEAVING, Stage.READY);
    try {
      disks.refuseUsed(key);
    } catch (PlatterException e) {
      settle();
      throw e;
    }
  }

  private void copy(IdentityDisk old, IdentityDisk moved) throws IOException {
    var step = IdentityPlan.overlay(moved.identity(), moved.place(), layout);
    progress.before(step);
    var bytes = SparseFile.onDisk(old.file());
    pools.reserve(moved.file(), bytes, _ -> {});
    if (!linked(old.file(), moved.file())) {
      var what = "identity " + moved.identity().key();
      SparseCopy.copy(old.file(), moved.file(), done -> progress.bytes(what, done, bytes));
    }
    Durable.syncDirectory(Durable.parent(moved.file()));
    progress.after(step);
  }

  /** In the same file system nothing has to be copied. */
  private static boolean linked(Path from, Path to) throws IOException {
    try {
      Files.createLink(to, from);
      return true;
    } catch (FileSystemException e) {
      return false;
    }
  }

  private void settleAlone() {
    try (var _ = disks.lock()) {
      settle();
    } catch (IOException e) {
      progress.warning("what a move left is settled later: " + e);
    }
  }

  /** Ends what a dead process began, unless one is at it; the lock of the identities is held. */
  void recover() throws IOException {
    var mutex = FileMutex.tryTake(layout.poolMovesLock());
    if (mutex.isPresent()) {
      try (var _ = mutex.get()) {
        settle();
      }
    }
  }

  /** Both locks are held. */
  private void settle() throws IOException {
    for (var disk : records.list(Stage.COMING)) {
      var key = disk.identity().key();
      if (records.find(key).isEmpty() && records.find(key, Stage.LEAVING).isPresent()) {
        records.move(key, Stage.LEAVING, Stage.READY);
        records.sync(Stage.READY, Stage.LEAVING);
      }
      if (records.find(key).isPresent()) {
        disks.remove(key, Stage.COMING);
      }
    }
    for (var disk : records.list(Stage.LEAVING)) {
      if (records.find(disk.identity().key()).isPresent()) {
        disks.remove(disk.identity().key(), Stage.LEAVING);
      }
    }
  }
}
