package dev.platter.node;

import dev.platter.model.PlatterException;
import dev.platter.model.PlatterException.Code;
import dev.platter.node.durable.Cancellation;
import dev.platter.node.durable.Durable;
import dev.platter.plan.Plan;
import dev.platter.plan.Planned;
import dev.platter.plan.StateLayout;
import dev.platter.plan.Step;
import dev.platter.plan.VmKey;
import java.io.IOException;
import java.util.List;
import java.util.OptionalInt;
import java.util.SortedSet;
import java.util.TreeSet;
import java.util.stream.IntStream;

/**
 * Runs a plan forwards and backwards, with every step in the journal. The VM's lock is held.
 *
 * <p>The plan is on the disk before its first step, and each finished step before the next one
 * starts. Undoing a step that was not done is harmless, because every object it could find under
 * that name was made after our record of the name: {@link #refuseForeign} makes sure of it.
 *
 * <p>A plan that is only a beginning grows when its steps are done: the whole plan, whose first
 * steps are the same, takes its place by rename, and the start goes on with the others. Whoever is
 * killed before or after leaves a first start that was not finished, which either plan can undo.
 */
final class PlanRunner {
  private final StateLayout layout;
  private final StepRunner runner;
  private final Progress progress;

  PlanRunner(StateLayout layout, StepRunner runner, Progress progress) {
    this.layout = layout;
    this.runner = runner;
    this.progress = progress;
  }

  /** Finds the whole of a plan whose steps have all been done. */
  interface Growth {
    Planned grow(Plan begun) throws IOException;
  }

  Journal.State state(VmRecord record) throws IOException {
    return Journal.read(layout.journal(record.directory()));
  }

  /** Starts a VM again whose plan is whole. */
  void upAgain(VmRecord record, Given given) throws IOException {
    up(record, given, PlanRunner::isWhole);
  }

  void up(VmRecord record, Given given, Growth growth) throws IOException {
    try (var journal = Journal.open(layout.journal(record.directory()))) {
      journal.begin(Journal.Goal.UP);
      forwards(record, journal, given, growth);
      journal.end(Journal.Goal.UP);
    }
    runner.poolsChanged(record.plan());
  }

  /** Does one step. */
  interface Doing {
    void run(Step step, Pools.Reservation reservation) throws IOException;
  }

  /**
   * Does the steps of a VM that comes from another node. The last is not recorded as done: until
   * {@link #arrived} this is a first start that is not finished.
   */
  void arrive(VmRecord record, Doing doing) throws IOException {
    var steps = record.plan().steps();
    var unrecorded = new TreeSet<Integer>();
    try (var journal = Journal.open(layout.journal(record.directory()))) {
      journal.begin(Journal.Goal.UP);
      try {
        for (var i = 0; i < steps.size(); i++) {
          Cancellation.check();
          progress.before(steps.get(i));
          var number = i;
          doing.run(steps.get(i), bytes -> journal.reserve(number, bytes));
          unrecorded.add(i);
          if (i < steps.size() - 1) {
            journal.done(i);
            unrecorded.clear();
          }
          progress.after(steps.get(i));
        }
      } catch (IOException | RuntimeException e) {
        Cancellation.shield(() -> undo(record, journal, Journal.Goal.REMOVE, unrecorded, e));
        throw e;
      }
    }
  }

  /** The VM is up here. */
  void arrived(VmRecord record) throws IOException {
    try (var journal = Journal.open(layout.journal(record.directory()))) {
      journal.done(record.plan().steps().size() - 1);
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
    forwards(whole, journal, given, PlanRunner::isWhole);
  }

  private VmRecord grow(VmRecord begun, Growth growth) throws IOException {
    var planned = growth.grow(begun.plan());
    var steps = planned.plan().steps();
    var done = begun.plan().steps().size();
    if (!planned.plan().whole() || !steps.subList(0, done).equals(begun.plan().steps())) {
      throw new IllegalStateException("the plan of " + begun.plan().key() + " does not go on");
    }
    var rest = steps.subList(done, steps.size());
    prepare(planned.plan(), rest);
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
  void down(VmRecord record) throws IOException {
    goTo(record, state(record).everUp() ? Journal.Goal.DOWN : Journal.Goal.REMOVE);
  }

  void goTo(VmRecord record, Journal.Goal goal) throws IOException {
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
  void removeDirectory(VmKey key) throws IOException {
    var directory = layout.vm(key);
    Durable.delete(layout.plan(directory));
    Durable.deleteTree(directory);
  }

  /** Makes sure that these steps of a plan can be done. */
  void prepare(Plan plan, List<Step> steps) throws IOException {
    refuseForeign(plan, steps);
    runner.preparePools(plan, steps);
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
}
