package dev.platter.node;

import dev.platter.model.PlatterException;
import dev.platter.model.SecretData;
import dev.platter.node.OutgoingQemu.Copying;
import dev.platter.node.durable.Cancellation;
import dev.platter.plan.Relocation;
import dev.platter.plan.StateLayout;
import dev.platter.plan.VmKey;
import java.io.IOException;
import java.nio.channels.ClosedByInterruptException;
import java.nio.file.Files;
import java.time.Duration;
import java.util.HashMap;
import java.util.function.Supplier;

/**
 * Moves running VMs to other nodes, so that a guest runs in one place, whoever is killed when.
 *
 * <pre>
 * 1  record     departure.json here: to where
 * 2  prepare    there: arrival, plan, empty disks, a QEMU that waits
 * 3  copy       disks, then memory, through this process; the guest runs
 * 4  pause      the guest, by QEMU, when little is left; the copies of the disks end
 * 5  send       the rest; this QEMU lets go of its disks, the other has not opened them
 * 6  hand over  departure.json: the other may let the guest run
 * 7  decide     arrival there: the VM is the other's
 * 8  run        the guest, there, and record that the VM is up
 * 9  remove     all there is of the VM here
 * </pre>
 *
 * <p>Who finds a departure.json under the VM's lock knows that the process died. Before 6 the VM is
 * this node's and nobody has to be asked: the guest goes on here. After 6 the other node is asked,
 * under its own lock of the VM, where the arrival that was not decided is undone first; then this
 * QEMU, which has kept all of the guest, goes on, or it is removed. If the other node's records
 * cannot be read the guest stands still until they can.
 *
 * <p>Each node has its own leases of the sources that both reach, and takes them before its QEMU
 * starts: between the nodes nobody else can come in. That only one of the two QEMUs writes is due
 * to 5 and 7.
 *
 * <p>The VM's lock is held in all of this.
 */
final class Departures {
  private static final long POLL_MILLIS = 10;

  private final StateLayout layout;
  private final StepRunner runner;
  private final PlanRunner plans;
  private final MigrationRecords records;
  private final Peers peers;
  private final Whereabouts whereabouts;
  private final Progress progress;

  /** Opens the node of another state directory, to see what has become of a VM. */
  interface Peers {
    /**
     * @param libvirt which it uses; empty is Platter's own
     */
    Node open(StateLayout layout, String libvirt);
  }

  Departures(
      StateLayout layout,
      StepRunner runner,
      PlanRunner plans,
      Peers peers,
      Whereabouts whereabouts,
      Progress progress) {
    this.layout = layout;
    this.runner = runner;
    this.plans = plans;
    this.records = new MigrationRecords(layout);
    this.peers = peers;
    this.whereabouts = whereabouts;
    this.progress = progress;
  }

  Migrated run(VmRecord record, Destination to, SecretData secrets) throws IOException {
    var begun = System.nanoTime();
    var plan = record.plan();
    var relocation = to.relocate(plan, record.domainXml(layout), layout);
    var vm = describe(record, relocation);
    var departure = to.departure();
    records.publish(plan.key(), departure);
    progress.reached(MigrationStage.RECORDED);
    Passed passed;
    long standing;
    try (var arriving = to.receive(vm, departure, layout, secrets)) {
      progress.reached(MigrationStage.PREPARED);
      try (var disks = Relay.open(layout.disksSocket(plan.uuid()), arriving::openDisks);
          var memory = Relay.open(layout.memorySocket(plan.uuid()), arriving::openMemory)) {
        standing = copy(record, vm, to.perGib(), disks, memory);
        runner.moving().outgoing(plan).switchOver();
        arriving.complete();
        passed = new Passed(disks.passed(), memory.passed());
      }
      progress.reached(MigrationStage.SENT);
      var node = departure.node();
      if (node != null) {
        whereabouts.hand(plan.key(), departure.id(), node);
      }
      records.publish(plan.key(), departure.hand());
      progress.reached(MigrationStage.HANDED);
      arriving.decide();
      progress.reached(MigrationStage.DECIDED);
      arriving.run();
      standing = System.nanoTime() - standing;
      progress.reached(MigrationStage.RUNNING);
      arriving.finish();
    } catch (ClosedByInterruptException e) {
      Cancellation.shield(() -> settleAfter(record, e));
      throw Cancellation.cancelled();
    } catch (IOException | RuntimeException e) {
      Cancellation.shield(() -> settleAfter(record, e));
      throw e;
    }
    leave(record, other(departure));
    return new Migrated(
        passed.memory(),
        passed.disks(),
        Duration.ofNanos(System.nanoTime() - begun),
        Duration.ofNanos(standing));
  }

  private record Passed(long disks, long memory) {}

  private MovingVm describe(VmRecord record, Relocation relocation) throws IOException {
    var plan = record.plan();
    var stored = record.domainXml(layout);
    var sizes = new HashMap<String, Long>();
    var live = runner.disks(plan);
    for (var disk : relocation.copied()) {
      sizes.put(disk.to(), live.size(disk.device()));
    }
    var seed = layout.seed(record.directory());
    return new MovingVm(
        relocation.plan(),
        relocation.domain(stored),
        MovedDomain.of(runner.moving().describe(plan), relocation::path),
        Files.exists(seed) ? Files.readAllBytes(seed) : null,
        sizes,
        relocation.copied());
  }

  /** Until the guest stands still; returns when it still ran. */
  private long copy(VmRecord record, MovingVm vm, Duration perGib, Relay disks, Relay memory)
      throws IOException {
    var qemu = runner.moving().outgoing(record.plan());
    var size = qemu.memory() + vm.sizes().values().stream().mapToLong(Long::longValue).sum();
    var pace = new Pace(size, perGib, System::nanoTime);
    qemu.copy(vm.disks(), layout.disksSocket(record.plan().uuid()));
    await("disks", qemu::copying, disks, pace);
    progress.reached(MigrationStage.MIRRORED);
    qemu.send(layout.memorySocket(record.plan().uuid()));
    var ran = await("memory", qemu::sending, memory, pace);
    qemu.endCopies();
    progress.reached(MigrationStage.PAUSED);
    return ran;
  }

  /** Returns the last time at which it was not finished. */
  private long await(String what, Supplier<Copying> copying, Relay relay, Pace pace) {
    var before = System.nanoTime();
    var part = pace.part(what);
    while (true) {
      Cancellation.check();
      var now = System.nanoTime();
      var copied = copying.get();
      progress.bytes(what, copied.done(), copied.total());
      if (copied.finished()) {
        return before;
      }
      before = now;
      part.look(copied, relay.passed());
      pause();
    }
  }

  private static void pause() {
    try {
      Thread.sleep(POLL_MILLIS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw Cancellation.cancelled();
    }
  }

  private void settleAfter(VmRecord record, Exception cause) {
    try {
      settle(record);
    } catch (IOException | RuntimeException e) {
      // The record is still there, and the next command goes on from it.
      cause.addSuppressed(e);
    }
  }

  /** Ends a move that was begun, here or there; nothing happens if there is none. */
  void settle(VmRecord record) throws IOException {
    var key = record.plan().key();
    var found = records.departure(key);
    if (found.isEmpty()) {
      return;
    }
    var there = other(found.get());
    if (!found.get().handed()) {
      stay(record);
      undoThere(key, there);
    } else if (there.settle(key)) {
      leave(record, there);
    } else {
      stay(record);
      there.forget(key);
    }
  }

  /**
   * Takes the guest from this node, whatever became of it at the other, and says whether there was
   * a move. Its record stays until the VM is removed: without it this would be a VM to start again.
   */
  boolean giveUp(VmRecord record) {
    if (!Files.exists(layout.departure(record.directory()))) {
      return false;
    }
    runner.end(record.plan());
    return true;
  }

  private void stay(VmRecord record) throws IOException {
    var plan = record.plan();
    if (runner.domainExists(plan)) {
      runner.moving().outgoing(plan).stay();
      runner.disks(plan).resume();
    }
    records.forgetDeparture(plan.key());
  }

  /** What is left there is undone by the next command there, if not now. */
  private void undoThere(VmKey key, OtherNode there) {
    try {
      there.undo(key);
      there.forget(key);
    } catch (IOException | PlatterException e) {
      isNotTidy(e);
    }
  }

  private OtherNode other(Departure departure) {
    return departure.node() == null
        ? new NeighbourNode(departure, peers, this::isNotTidy)
        : new ClusterNode(departure, whereabouts);
  }

  private void isNotTidy(Exception e) {
    progress.warning("the other node is not tidy: " + e.getMessage());
  }

  /** The VM is the other node's. */
  private void leave(VmRecord record, OtherNode there) throws IOException {
    plans.goTo(record, Journal.Goal.REMOVE);
    there.forget(record.plan().key());
  }
}
