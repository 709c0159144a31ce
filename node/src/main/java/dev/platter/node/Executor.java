package dev.platter.node;

import dev.platter.model.PlatterException;
import dev.platter.plan.Plan;
import dev.platter.plan.Planned;
import dev.platter.plan.Seed;
import dev.platter.plan.StateLayout;
import dev.platter.plan.Step;
import java.io.IOException;
import java.nio.file.Files;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/**
 * Runs plans forwards and backwards.
 *
 * <p>The plan is on the disk before its first step, and each finished step before the next one
 * starts. Whoever finds a VM whose goal was begun and not ended, and whose lock is free, knows that
 * the process died: a first start is undone until nothing is left, a later start is undone until
 * the VM is stopped, a stop or a removal is finished; a start whose last step is recorded counts as
 * finished. Undoing a step that was not done is harmless, because every object it could find under
 * that name was made after our record of the name: {@link #refuseForeign} makes sure of it.
 */
final class Executor {
  private static final Duration PATIENCE = Duration.ofMinutes(1);

  private final StateLayout layout;
  private final StepRunner runner;
  private final Progress progress;

  Executor(StateLayout layout, StepRunner runner, Progress progress) {
    this.layout = layout;
    this.runner = runner;
    this.progress = progress;
  }

  /** Makes the VM and starts it. If a step fails nothing is left of it. */
  VmRecord create(Planned planned) throws IOException {
    var plan = planned.plan();
    try (var _ = lock(plan.namespace(), plan.name())) {
      recover(plan.namespace(), plan.name());
      refuseForeign(plan);
      var record = VmRecord.create(layout, planned);
      up(record, planned.seed());
      return record;
    }
  }

  /** Starts a stopped VM from its stored plan. */
  void start(VmRecord record) throws IOException {
    try (var _ = lock(record)) {
      recover(record.plan().namespace(), record.plan().name());
      down(record);
      up(record, null);
    }
  }

  void stop(VmRecord record) throws IOException {
    try (var _ = lock(record)) {
      down(record);
    }
  }

  void remove(VmRecord record) throws IOException {
    try (var _ = lock(record)) {
      takeAway(record);
    }
  }

  /** Finishes what dead processes left. VMs that somebody is working on are passed over. */
  void recoverAll() throws IOException {
    for (var directory : VmRecord.directories(layout)) {
      var key = directory.getFileName().toString().split("_", 2);
      if (key.length != 2) {
        continue;
      }
      var mutex = FileMutex.tryTake(layout.vmLock(key[0], key[1]));
      if (mutex.isPresent()) {
        try (var _ = mutex.get()) {
          recover(key[0], key[1]);
        }
      }
    }
  }

  /** The VM's lock is held. */
  private void recover(String namespace, String name) throws IOException {
    var directory = layout.vm(namespace, name);
    var record = VmRecord.find(layout, namespace, name);
    if (record.isEmpty()) {
      if (Files.isDirectory(directory)) {
        removeDirectory(namespace, name);
      }
      return;
    }
    var state = record.get().state(layout);
    var allDone = state.done().size() == record.get().plan().steps().size();
    if (state.open() == Journal.Goal.UP && allDone) {
      try (var journal = Journal.open(layout.journal(directory))) {
        journal.end(Journal.Goal.UP);
      }
    } else if (state.open() == Journal.Goal.REMOVE || !state.everUp()) {
      takeAway(record.get());
    } else if (state.open() != null) {
      down(record.get());
    }
  }

  private void up(VmRecord record, @Nullable Seed seed) throws IOException {
    var steps = record.plan().steps();
    try (var journal = Journal.open(layout.journal(record.directory()))) {
      var before = record.state(layout);
      journal.begin(Journal.Goal.UP);
      try {
        for (var i = 0; i < steps.size(); i++) {
          if (!before.done().contains(i)) {
            Cancellation.check();
            progress.before(steps.get(i));
            runner.run(record, steps.get(i), seed);
            journal.done(i);
            progress.after(steps.get(i));
          }
        }
      } catch (IOException | RuntimeException e) {
        Cancellation.shield(
            () ->
                undo(
                    record, journal, before.everUp() ? Journal.Goal.DOWN : Journal.Goal.REMOVE, e));
        throw e;
      }
      journal.end(Journal.Goal.UP);
    }
  }

  /** A step that failed has cleaned up after itself, so only the finished ones are undone. */
  private void undo(VmRecord record, Journal journal, Journal.Goal goal, Exception cause) {
    try {
      backwards(record, journal, goal, record.state(layout).done().stream().sorted().toList());
    } catch (IOException | RuntimeException e) {
      // The journal still says what is left, and the next command goes on from there.
      cause.addSuppressed(e);
    }
  }

  private void down(VmRecord record) throws IOException {
    goTo(record, Journal.Goal.DOWN);
  }

  private void takeAway(VmRecord record) throws IOException {
    goTo(record, Journal.Goal.REMOVE);
  }

  private void goTo(VmRecord record, Journal.Goal goal) throws IOException {
    try (var journal = Journal.open(layout.journal(record.directory()))) {
      backwards(record, journal, goal, mayBeDone(record.plan(), record.state(layout)));
    }
  }

  /** The steps recorded as done, and the one that may have been under way when the process died. */
  private static List<Integer> mayBeDone(Plan plan, Journal.State state) {
    var underWay =
        state.open() == Journal.Goal.UP
            ? IntStream.range(0, plan.steps().size())
                .filter(i -> !state.done().contains(i))
                .limit(1)
            : IntStream.empty();
    return IntStream.concat(state.done().stream().mapToInt(Integer::intValue), underWay)
        .sorted()
        .boxed()
        .toList();
  }

  private void backwards(VmRecord record, Journal journal, Journal.Goal goal, List<Integer> steps)
      throws IOException {
    journal.begin(goal);
    for (var i : steps.reversed()) {
      var step = record.plan().steps().get(i);
      if (goal == Journal.Goal.REMOVE || step.life() == Step.Life.RUN) {
        progress.beforeUndo(step);
        runner.undo(record, step);
        journal.undone(i);
        progress.afterUndo(step);
      }
    }
    if (goal == Journal.Goal.REMOVE) {
      removeDirectory(record.plan().namespace(), record.plan().name());
    } else {
      journal.end(goal);
    }
  }

  /** The plan goes first: without it the rest is a creation that was cut short. */
  private void removeDirectory(String namespace, String name) throws IOException {
    var directory = layout.vm(namespace, name);
    Durable.delete(layout.plan(directory));
    Durable.deleteTree(directory);
  }

  /**
   * What a plan is going to make must not exist, so that undoing it can never hit what somebody
   * else made.
   */
  private void refuseForeign(Plan plan) throws IOException {
    if (VmRecord.find(layout, plan.namespace(), plan.name()).isPresent()) {
      throw PlatterException.of(
          PlatterException.Code.CONFLICT,
          "there is a VM " + plan.namespace() + "/" + plan.name() + " already",
          "Start it with 'platter start "
              + plan.name()
              + "', or remove it with 'platter rm "
              + plan.name()
              + "'.");
    }
    for (var step : plan.steps()) {
      runner.refuseForeign(step);
    }
  }

  Optional<VmRecord> find(String namespace, String name) throws IOException {
    return VmRecord.find(layout, namespace, name);
  }

  private FileMutex lock(VmRecord record) throws IOException {
    return lock(record.plan().namespace(), record.plan().name());
  }

  private FileMutex lock(String namespace, String name) throws IOException {
    return FileMutex.take(
        layout.vmLock(namespace, name), "the VM " + namespace + "/" + name, PATIENCE);
  }
}
