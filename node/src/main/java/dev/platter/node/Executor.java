package dev.platter.node;

import dev.platter.model.PlatterException;
import dev.platter.model.PlatterException.Code;
import dev.platter.model.SecretData;
import dev.platter.node.durable.Cancellation;
import dev.platter.node.durable.Durable;
import dev.platter.node.durable.FileMutex;
import dev.platter.plan.DiskChange;
import dev.platter.plan.Plan;
import dev.platter.plan.Planned;
import dev.platter.plan.StateLayout;
import dev.platter.plan.Step;
import dev.platter.plan.VmKey;
import java.io.IOException;
import java.nio.file.Files;
import java.time.Duration;
import java.util.List;
import java.util.OptionalInt;
import java.util.OptionalLong;
import java.util.SortedSet;
import java.util.TreeSet;
import java.util.function.Consumer;
import java.util.stream.IntStream;

/**
 * Runs plans forwards and backwards.
 *
 * <p>The plan is on the disk before its first step, and each finished step before the next one
 * starts. Whoever finds a VM whose goal was begun and not ended, and whose lock is free, knows that
 * the process died: a first start is undone until nothing is left, a later start is undone until
 * the VM is stopped, a stop or a removal is finished; a start whose last step is recorded counts as
 * finished. Undoing a step that was not done is harmless, because every object it could find under
 * that name was made after our record of the name: {@link #refuseForeign} makes sure of it.
 *
 * <p>A plan that is only a beginning grows when its steps are done: the whole plan, whose first
 * steps are the same, takes its place by rename, and the start goes on with the others. Whoever is
 * killed before or after leaves a first start that was not finished, which either plan can undo.
 *
 * <p>How the disks of a running VM are changed is in {@link LiveChanges}; a change that was begun
 * is settled before anything else is done to the VM.
 *
 * <p>Nothing is decided about a VM but under its lock, from what is read under its lock.
 */
final class Executor {
  private static final Duration PATIENCE = Duration.ofMinutes(1);

  private final StateLayout layout;
  private final StepRunner runner;
  private final LiveChanges live;
  private final Progress progress;

  Executor(StateLayout layout, StepRunner runner, Progress progress) {
    this.layout = layout;
    this.runner = runner;
    this.live = new LiveChanges(layout, runner, progress);
    this.progress = progress;
  }

  /** Makes the VM and starts it. If a step fails nothing is left of it. */
  void create(Planned planned, SecretData secrets, Growth growth) throws IOException {
    var plan = planned.plan();
    try (var _ = lock(plan.key())) {
      recover(plan.key());
      if (VmRecord.find(layout, plan.key()).isPresent()) {
        throw PlatterException.of(
            Code.CONFLICT,
            "there is a VM " + plan.key() + " already",
            "Start it with 'platter start "
                + plan.name()
                + "', or remove it with 'platter rm "
                + plan.name()
                + "'.");
      }
      refuseForeign(plan, plan.steps());
      runner.preparePools(plan, plan.steps());
      up(
          VmRecord.create(layout, planned),
          new Given(planned.seed(), secrets, planned.rootFiles()),
          growth);
    }
  }

  /** Finds the whole of a plan whose steps have all been done. */
  interface Growth {
    Planned grow(Plan begun) throws IOException;
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
        if (runner.serveAgain(record.plan(), secrets)) {
          return;
        }
        throw PlatterException.of(
            Code.CONFLICT,
            "the VM " + key + " is running already",
            "See 'platter ps', or stop it first.");
      }
      down(record);
      var done = state(record).done();
      var steps = record.plan().steps();
      var missing =
          IntStream.range(0, steps.size())
              .filter(i -> !done.contains(i))
              .mapToObj(steps::get)
              .toList();
      refuseForeign(record.plan(), missing);
      runner.preparePools(record.plan(), missing);
      up(record, new Given(secrets), Executor::isWhole);
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
      runner.askToEnd(record.plan(), shutdown);
      down(record);
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
      settle(key);
      var record = find(key);
      if (!force && runner.domainExists(record.plan())) {
        throw PlatterException.of(
            Code.CONFLICT,
            "the VM " + key + " is running",
            "Stop it first with 'platter stop " + key.name() + "', or use --force.");
      }
      goTo(record, Journal.Goal.REMOVE);
    }
  }

  /** Changes the disks of a VM that runs. */
  void change(VmKey key, Given given, ChangeMaker maker) throws IOException {
    try (var _ = lock(key)) {
      recover(key);
      var record = find(key);
      if (!state(record).up() || !runner.isRunning(record.plan())) {
        throw PlatterException.of(
            Code.CONFLICT,
            "the VM " + key + " is not running",
            "See 'platter ps --all'; start it with 'platter start " + key.name() + "'.");
      }
      live.run(record, maker.make(record, runner.disks(record.plan())), given);
    }
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
      var mutex = FileMutex.tryTake(layout.vmLock(key));
      if (mutex.isEmpty()) {
        continue;
      }
      try (var _ = mutex.get()) {
        recover(key);
        var record = VmRecord.find(layout, key);
        if (record.isPresent()
            && state(record.get()).up()
            && !runner.domainExists(record.get().plan())) {
          down(record.get());
        }
      } catch (PlatterException e) {
        broken.accept(e);
      }
    }
  }

  /** The VM's lock is held, here and in all that follows. */
  private void settle(VmKey key) throws IOException {
    var found = VmRecord.find(layout, key);
    if (found.isPresent()) {
      live.settle(found.get());
    }
  }

  private void endUnsettled(VmKey key, Shutdown shutdown) throws IOException {
    var found = VmRecord.find(layout, key);
    if (found.isPresent()) {
      live.endUnsettled(found.get(), shutdown);
    }
  }

  private void recover(VmKey key) throws IOException {
    settle(key);
    var found = VmRecord.find(layout, key);
    if (found.isEmpty()) {
      if (Files.isDirectory(layout.vm(key))) {
        removeDirectory(key);
      }
      return;
    }
    var record = found.get();
    var state = state(record);
    var allDone = record.plan().whole() && state.done().size() == record.plan().steps().size();
    if (state.open() == Journal.Goal.UP && allDone) {
      try (var journal = Journal.open(layout.journal(record.directory()))) {
        journal.end(Journal.Goal.UP);
      }
    } else if (state.open() == Journal.Goal.REMOVE || !state.everUp()) {
      goTo(record, Journal.Goal.REMOVE);
    } else if (state.open() != null) {
      down(record);
    }
  }

  private VmRecord find(VmKey key) throws IOException {
    return VmRecord.find(layout, key).orElseThrow(() -> noSuchVm(key));
  }

  static PlatterException noSuchVm(VmKey key) {
    return PlatterException.of(
        Code.NOT_FOUND, "there is no VM " + key, "'platter ps --all' lists the VMs.");
  }

  private Journal.State state(VmRecord record) throws IOException {
    return Journal.read(layout.journal(record.directory()));
  }

  private void up(VmRecord record, Given given, Growth growth) throws IOException {
    try (var journal = Journal.open(layout.journal(record.directory()))) {
      journal.begin(Journal.Goal.UP);
      forwards(record, journal, given, growth);
      journal.end(Journal.Goal.UP);
    }
    runner.poolsChanged(record.plan());
  }

  private void forwards(VmRecord record, Journal journal, Given given, Growth growth)
      throws IOException {
    var steps = record.plan().steps();
    var before = state(record);
    var unrecorded = new TreeSet<Integer>();
    VmRecord whole;
    try {
      for (var i = 0; i < steps.size(); i++) {
        if (!before.done().contains(i)) {
          Cancellation.check();
          if (steps.get(i) instanceof Step.MakeVolume) {
            // If the container failed and would not delete its volume, it is asked again.
            unrecorded.add(i);
          }
          progress.before(steps.get(i));
          var number = i;
          runner.run(record, steps.get(i), given, bytes -> journal.reserve(number, bytes));
          unrecorded.add(i);
          journal.done(i);
          unrecorded.clear();
          progress.after(steps.get(i));
        }
      }
      if (record.plan().whole()) {
        return;
      }
      whole = grow(record, growth);
    } catch (IOException | RuntimeException e) {
      var goal = before.everUp() ? Journal.Goal.DOWN : Journal.Goal.REMOVE;
      Cancellation.shield(() -> undo(record, journal, goal, unrecorded, e));
      throw e;
    }
    forwards(whole, journal, given, Executor::isWhole);
  }

  private VmRecord grow(VmRecord begun, Growth growth) throws IOException {
    var planned = growth.grow(begun.plan());
    var steps = planned.plan().steps();
    var done = begun.plan().steps().size();
    if (!planned.plan().whole() || !steps.subList(0, done).equals(begun.plan().steps())) {
      throw new IllegalStateException("the plan of " + begun.plan().key() + " does not go on");
    }
    var rest = steps.subList(done, steps.size());
    refuseForeign(planned.plan(), rest);
    runner.preparePools(planned.plan(), rest);
    return begun.grow(layout, planned);
  }

  private static Planned isWhole(Plan plan) {
    throw new IllegalStateException("the plan of " + plan.key() + " is only a beginning");
  }

  /**
   * A step that failed has cleaned up after itself; one that worked but could not be recorded has
   * not.
   */
  private void undo(
      VmRecord record,
      Journal journal,
      Journal.Goal goal,
      SortedSet<Integer> unrecorded,
      Exception cause) {
    try {
      unrecorded.addAll(state(record).done());
      backwards(record, journal, goal, List.copyOf(unrecorded));
    } catch (IOException | RuntimeException e) {
      // The journal still says what is left, and the next command goes on from there.
      cause.addSuppressed(e);
    }
  }

  /** Of a VM that was never up there is nothing to keep. */
  private void down(VmRecord record) throws IOException {
    goTo(record, state(record).everUp() ? Journal.Goal.DOWN : Journal.Goal.REMOVE);
  }

  private void goTo(VmRecord record, Journal.Goal goal) throws IOException {
    try (var journal = Journal.open(layout.journal(record.directory()))) {
      backwards(record, journal, goal, mayBeDone(record.plan(), state(record)));
    }
  }

  /** The steps recorded as done, and the one that may have been under way when the process died. */
  private static List<Integer> mayBeDone(Plan plan, Journal.State state) {
    return IntStream.range(0, plan.steps().size())
        .filter(i -> state.done().contains(i) || state.inDoubt().equals(OptionalInt.of(i)))
        .boxed()
        .toList();
  }

  private void backwards(VmRecord record, Journal journal, Journal.Goal goal, List<Integer> steps)
      throws IOException {
    var there = new TreeSet<>(state(record).done());
    journal.begin(goal);
    for (var i : steps.reversed()) {
      var step = record.plan().steps().get(i);
      if (goal == Journal.Goal.REMOVE || step.life() == Step.Life.RUN) {
        progress.beforeUndo(step);
        there.remove(i);
        runner.undo(record.plan(), step, there.stream().map(record.plan().steps()::get).toList());
        journal.undone(i);
        progress.afterUndo(step);
      }
    }
    if (goal == Journal.Goal.REMOVE) {
      removeDirectory(record.plan().key());
    } else {
      journal.end(goal);
    }
    runner.poolsChanged(record.plan());
  }

  /** The plan goes first: without it the rest is a creation that was cut short. */
  private void removeDirectory(VmKey key) throws IOException {
    var directory = layout.vm(key);
    Durable.delete(layout.plan(directory));
    Durable.deleteTree(directory);
  }

  /**
   * What a plan is going to make must not exist, so that undoing it can never hit what somebody
   * else made.
   */
  private void refuseForeign(Plan plan, List<Step> steps) throws IOException {
    for (var other : VmRecord.list(layout, _ -> {})) {
      if (other.plan().uuid().equals(plan.uuid()) && !other.plan().key().equals(plan.key())) {
        throw PlatterException.of(
            Code.CONFLICT,
            "the VM " + other.plan().key() + " has the UUID " + plan.uuid() + " already",
            "Give each VM its own firmware.uuid, or none.");
      }
    }
    for (var step : steps) {
      runner.refuseForeign(plan, step);
    }
  }

  private FileMutex lock(VmKey key) throws IOException {
    return FileMutex.take(layout.vmLock(key), "the VM " + key, PATIENCE);
  }
}
