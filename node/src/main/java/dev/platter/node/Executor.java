package dev.platter.node;

import dev.platter.model.PlatterException;
import dev.platter.model.PlatterException.Code;
import dev.platter.model.SecretData;
import dev.platter.node.durable.Cancellation;
import dev.platter.node.durable.FileMutex;
import dev.platter.plan.DiskChange;
import dev.platter.plan.Planned;
import dev.platter.plan.StateLayout;
import dev.platter.plan.VmKey;
import java.io.IOException;
import java.nio.file.Files;
import java.time.Duration;
import java.util.List;
import java.util.OptionalLong;
import java.util.function.Consumer;
import java.util.stream.IntStream;

/**
 * What commands do to VMs. How a plan is run, forwards and backwards, is in {@link PlanRunner}; how
 * the disks of a running VM are changed, in {@link LiveChanges}; how a running VM moves to another
 * node, in {@link Departures} and {@link Arrivals}.
 *
 * <p>Whoever finds a VM whose goal was begun and not ended, and whose lock is free, knows that the
 * process died: a first start is undone until nothing is left, a later start is undone until the VM
 * is stopped, a stop or a removal is finished; a start whose last step is recorded counts as
 * finished. A change of its disks that was begun is settled before anything else is done to it.
 *
 * <p>Nothing is decided about a VM but under its lock, from what is read under its lock.
 */
final class Executor {
  private static final Duration PATIENCE = Duration.ofMinutes(1);

  private final StateLayout layout;
  private final StepRunner runner;
  private final PlanRunner plans;
  private final LiveChanges live;
  private final Departures departures;
  private final Arrivals arrivals;
  private final MigrationRecords migrations;

  Executor(
      StateLayout layout,
      StepRunner runner,
      Departures.Peers peers,
      Whereabouts whereabouts,
      Progress progress) {
    this.layout = layout;
    this.runner = runner;
    this.live = new LiveChanges(layout, runner, progress);
    this.plans = new PlanRunner(layout, runner, progress);
    this.departures = new Departures(layout, runner, plans, peers, whereabouts, progress);
    this.arrivals = new Arrivals(layout, runner, plans, whereabouts);
    this.migrations = new MigrationRecords(layout);
  }

  /** Makes the VM and starts it. If a step fails nothing is left of it. */
  void create(Planned planned, SecretData secrets, PlanRunner.Growth growth) throws IOException {
    var plan = planned.plan();
    try (var _ = lock(plan.key())) {
      recover(plan.key());
      refuseExisting(plan.key());
      plans.prepare(plan, plan.steps());
      plans.up(
          VmRecord.create(layout, planned),
          new Given(planned.seed(), secrets, planned.rootFiles()),
          growth);
    }
  }

  private void refuseExisting(VmKey key) throws IOException {
    if (VmRecord.find(layout, key).isPresent()) {
      throw PlatterException.of(
          Code.CONFLICT,
          "there is a VM " + key + " already",
          "Start it with 'platter start "
              + key.name()
              + "', or remove it with 'platter rm "
              + key.name()
              + "'.");
    }
  }

  /**
   * Starts a stopped VM from its stored plan, if {@code check} lets it. One that runs, and reads
   * files from web servers through a daemon that may have lost their secrets, gets them again.
   */
  void start(VmKey key, SecretData secrets, Check check) throws IOException {
    try (var _ = lock(key)) {
      recover(key);
      var record = find(key);
      check.accept(record);
      if (runner.domainExists(record.plan())) {
        if (runner.serveAgain(record, secrets)) {
          return;
        }
        throw PlatterException.of(
            Code.CONFLICT,
            "the VM " + key + " is running already",
            "See 'platter ps', or stop it first.");
      }
      plans.down(record);
      var done = plans.state(record).done();
      var steps = record.plan().steps();
      var missing =
          IntStream.range(0, steps.size())
              .filter(i -> !done.contains(i))
              .mapToObj(steps::get)
              .toList();
      plans.prepare(record.plan(), missing);
      plans.upAgain(record, new Given(secrets));
    }
  }

  /** What must hold of a stopped VM before it is started again. */
  interface Check {
    void accept(VmRecord record) throws IOException;
  }

  /**
   * Asks the guest first; only then is anything recorded, so that a stop which is given up changes
   * nothing. A guest whose disks cannot be settled is ended too.
   */
  void stop(VmKey key, Shutdown shutdown) throws IOException {
    try (var _ = lock(key)) {
      try {
        settle(key);
      } catch (IOException | PlatterException e) {
        Cancellation.check();
        endUnsettled(key, shutdown);
        settle(key);
      }
      var record = find(key);
      arrivals.settle(record);
      runner.askToEnd(record.plan(), shutdown);
      plans.down(record);
    }
  }

  /**
   * @param force also a VM that runs, be it one whose QEMU does not answer
   */
  void remove(VmKey key, boolean force) throws IOException {
    try (var _ = lock(key)) {
      if (force) {
        endUnsettled(key, new Shutdown(Duration.ZERO));
      }
      if (!force || !giveUpDeparture(key)) {
        settle(key);
      }
      var record = find(key);
      if (!force && runner.domainExists(record.plan())) {
        throw PlatterException.of(
            Code.CONFLICT,
            "the VM " + key + " is running",
            "Stop it first with 'platter stop " + key.name() + "', or use --force.");
      }
      plans.goTo(record, Journal.Goal.REMOVE);
    }
  }

  /** Changes the disks of a VM that runs. */
  void change(VmKey key, Given given, ChangeMaker maker) throws IOException {
    try (var _ = lock(key)) {
      var record = running(key);
      live.run(record, maker.make(record, runner.disks(record.plan())), given);
    }
  }

  /** Moves a VM that runs to another node. If it fails the VM runs on. */
  Migrated migrate(VmKey key, Destination to, SecretData secrets) throws IOException {
    try (var _ = lock(key)) {
      return departures.run(running(key), to, secrets);
    }
  }

  private VmRecord running(VmKey key) throws IOException {
    recover(key);
    var record = find(key);
    if (!plans.state(record).up() || !runner.isRunning(record.plan())) {
      throw PlatterException.of(
          Code.CONFLICT,
          "the VM " + key + " is not running",
          "See 'platter ps --all'; start it with 'platter start " + key.name() + "'.");
    }
    return record;
  }

  /** Makes all that a VM needs that comes from another node; its lock is the caller's then. */
  Arriving receive(MovingVm vm, Arrival arrival, SecretData secrets) throws IOException {
    var plan = vm.plan();
    var mutex = lock(plan.key());
    try {
      recover(plan.key());
      refuseExisting(plan.key());
      var record = arrivals.prepare(vm, arrival, secrets);
      return new ArrivingHere(
          arrivals,
          arrival,
          record,
          runner.moving().incoming(plan, vm.disks()),
          new ArrivingHere.Sockets(
              layout.disksSocket(plan.uuid()), layout.memorySocket(plan.uuid())),
          mutex);
    } catch (IOException | RuntimeException e) {
      mutex.close();
      throw e;
    }
  }

  /** Finishes what dead processes left of a VM. */
  void settled(VmKey key) throws IOException {
    try (var _ = lock(key)) {
      recover(key);
      migrations.forgetUnasked(key);
    }
  }

  /** VMs of which a move has not come to its end. */
  List<VmKey> unsettled() throws IOException {
    return migrations.unsettled();
  }

  /** The disks of a VM; under its lock, so that each is seen as it is before or after a change. */
  List<VmDisks.Listed> disks(VmKey key) throws IOException {
    try (var _ = lock(key)) {
      var plan = find(key).plan();
      var sizes = runner.domainExists(plan) ? runner.disks(plan) : null;
      return plan.disks().stream()
          .map(
              disk ->
                  new VmDisks.Listed(
                      disk,
                      sizes == null
                          ? OptionalLong.empty()
                          : OptionalLong.of(sizes.size(disk.device()))))
          .toList();
    }
  }

  /** Says what is to change, from what is found under the VM's lock. */
  interface ChangeMaker {
    DiskChange make(VmRecord record, LiveDisks disks) throws IOException;
  }

  /**
   * Finishes what dead processes left, and takes down VMs whose guest has ended. VMs that somebody
   * is working on are passed over, and one that cannot be helped does not stand in the way of the
   * others.
   */
  void tidy(Consumer<PlatterException> broken) throws IOException {
    for (var key : VmRecord.keys(layout)) {
      tidy(key, broken);
    }
    for (var key : migrations.arrivals()) {
      ifIdle(key, broken, () -> migrations.forgetIfSettled(key));
    }
  }

  /** The same for one VM. */
  void tidy(VmKey key, Consumer<PlatterException> broken) throws IOException {
    ifIdle(
        key,
        broken,
        () -> {
          recover(key);
          migrations.forgetUnasked(key);
          var record = VmRecord.find(layout, key);
          if (record.isPresent()
              && plans.state(record.get()).up()
              && !runner.domainExists(record.get().plan())) {
            plans.down(record.get());
          }
        });
  }

  private interface Work {
    void run() throws IOException;
  }

  private void ifIdle(VmKey key, Consumer<PlatterException> broken, Work work) throws IOException {
    var mutex = FileMutex.tryTake(layout.vmLock(key));
    if (mutex.isEmpty()) {
      return;
    }
    try (var _ = mutex.get()) {
      work.run();
    } catch (PlatterException e) {
      Cancellation.check();
      broken.accept(e);
    } catch (IOException e) {
      Cancellation.check();
      broken.accept(
          PlatterException.of(
              Code.UNAVAILABLE,
              "the VM " + key + " cannot be settled: " + e,
              "Make it possible to read that; or remove the VM here with 'platter rm --force'.",
              e));
    }
  }

  /** The VM's lock is held, here and in all that follows. */
  private void settle(VmKey key) throws IOException {
    var found = VmRecord.find(layout, key);
    if (found.isPresent()) {
      live.settle(found.get());
      departures.settle(found.get());
    }
  }

  private void endUnsettled(VmKey key, Shutdown shutdown) throws IOException {
    var found = VmRecord.find(layout, key);
    if (found.isPresent()) {
      live.endUnsettled(found.get(), shutdown);
    }
  }

  private boolean giveUpDeparture(VmKey key) throws IOException {
    var found = VmRecord.find(layout, key);
    return found.isPresent() && departures.giveUp(found.get());
  }

  private void recover(VmKey key) throws IOException {
    settle(key);
    var found = VmRecord.find(layout, key);
    if (found.isEmpty()) {
      if (Files.isDirectory(layout.vm(key))) {
        plans.removeDirectory(key);
      }
      return;
    }
    var record = found.get();
    arrivals.settle(record);
    var state = plans.state(record);
    var allDone = record.plan().whole() && state.done().size() == record.plan().steps().size();
    if (state.open() == Journal.Goal.UP && allDone) {
      try (var journal = Journal.open(layout.journal(record.directory()))) {
        journal.end(Journal.Goal.UP);
      }
    } else if (state.open() == Journal.Goal.REMOVE || !state.everUp()) {
      plans.goTo(record, Journal.Goal.REMOVE);
    } else if (state.open() != null) {
      plans.down(record);
    }
  }

  private VmRecord find(VmKey key) throws IOException {
    return VmRecord.find(layout, key).orElseThrow(() -> noSuchVm(key));
  }

  static PlatterException noSuchVm(VmKey key) {
    return PlatterException.of(
        Code.NOT_FOUND, "there is no VM " + key, "'platter ps --all' lists the VMs.");
  }

  private FileMutex lock(VmKey key) throws IOException {
    return FileMutex.take(layout.vmLock(key), "the VM " + key, PATIENCE);
  }
}
