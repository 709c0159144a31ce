package dev.platter.node;

import dev.platter.model.PlatterException;
import dev.platter.model.PlatterException.Code;
import dev.platter.node.durable.Cancellation;
import dev.platter.node.durable.Durable;
import dev.platter.plan.DiskChange;
import dev.platter.plan.LiveEffect;
import dev.platter.plan.Plan;
import dev.platter.plan.PlanJson;
import dev.platter.plan.PlannedDisk;
import dev.platter.plan.StateLayout;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.TreeSet;
import java.util.stream.IntStream;

/**
 * Changes the disks of a running VM so that QEMU, the plan, the stored domain and the files agree,
 * whenever this process is killed. One file beside the plan, {@code change.json}, says how far a
 * change is; it is published by rename and has everything in it.
 *
 * <pre>
 * 1  record     change.json: the effect on QEMU, the steps, the next plan and domain; undecided
 * 2  make       the steps that the change adds; what they make did not exist before 1
 * 3  pause      the guest, where the effect would let it write what taking it back would lose
 * 4  effect     one call of libvirt
 * 5  decide     change.json again, decided; from here on the VM is the changed one
 * 6  go on      the guest
 * 7  publish    the stored domain, the journal and the plan
 * 8  drop       the steps that the change removes are undone
 * 9  forget     change.json
 * </pre>
 *
 * <p>Who finds a change.json under the VM's lock knows that the process died. If it is decided, 6
 * to 9 are done again, each of which changes nothing where it was done. If not, QEMU is asked
 * whether it has the effect: if so it is decided and finished; if not, or if the VM has ended, it
 * is taken back: 2 is undone, in full since undoing what was not done changes nothing, and the
 * stored plan and domain were never touched. A step that failed while nobody was killed is struck
 * from the record first: it may have failed because of a file that somebody else made since 1.
 *
 * <p>Taking back is right for a VM that ended, because the guest did not run between 4 and 5: what
 * lies in an overlay or a new disk by then is nothing, and what was merged into the file below is
 * in the overlay still. It costs the guest a pause of a few milliseconds, and a guest whose Platter
 * is killed right there stays paused until the next command. Without the pause nobody could tell,
 * after a power loss, which of two files has the guest's last writes.
 *
 * <p>QEMU opens a new disk by its name. Where that may have become another's meanwhile, the change
 * is decided only when the kernel says that QEMU has open what was checked. What was checked is
 * known to this process alone, so such a change is never finished by another: the disk is taken
 * from the guest, which has not run with it, and the change is taken back.
 *
 * <p>libvirt may still be at work for a client that was killed. Pausing waits for that, so it comes
 * before QEMU is asked.
 *
 * <p>A VM whose QEMU does not answer, as when its storage is gone for ever, cannot be settled while
 * it runs. Once it has ended, QEMU is not needed any more.
 *
 * <p>A merge that is taken back leaves the file below partly written. The guest sees no difference,
 * since the overlay hides every such byte, but that file is no longer the disk as it was when the
 * snapshot was made; the snapshot can then only be removed again.
 */
final class LiveChanges {
  private final StateLayout layout;
  private final StepRunner runner;
  private final Progress progress;

  LiveChanges(StateLayout layout, StepRunner runner, Progress progress) {
    this.layout = layout;
    this.runner = runner;
    this.progress = progress;
  }

  /** The VM's lock is held, here and in {@link #settle}; the VM runs. */
  void run(VmRecord record, DiskChange change, Given given) throws IOException {
    for (var step : change.made()) {
      runner.refuseForeign(record.plan(), step);
    }
    runner.preparePools(change.next(), change.made());
    write(record, change);
    try {
      make(record, change, given);
      effect(record, change);
      write(record, change.decide());
    } catch (IOException | RuntimeException e) {
      Cancellation.shield(() -> settleAfter(record, e));
      throw e;
    }
    finish(record, change);
  }

  private void make(VmRecord record, DiskChange change, Given given) throws IOException {
    var next = new VmRecord(record.directory(), change.next());
    for (var i = 0; i < change.made().size(); i++) {
      var step = change.made().get(i);
      try {
        Cancellation.check();
        progress.before(step);
        // What another start takes of a pool's limit meanwhile is not known here.
        runner.run(next, step, given, _ -> {});
      } catch (IOException | RuntimeException e) {
        var done = change.madeUpTo(i);
        Cancellation.shield(() -> writeAfter(record, done, e));
        throw e;
      }
      progress.after(step);
    }
  }

  /** A step that failed left nothing: what has the name of its file is somebody else's. */
  private void writeAfter(VmRecord record, DiskChange done, Exception cause) {
    try {
      write(record, done);
    } catch (IOException e) {
      cause.addSuppressed(e);
    }
  }

  private void effect(VmRecord record, DiskChange change) throws IOException {
    var effect = change.effect();
    var disks = runner.disks(record.plan());
    try (var opened = runner.opened(change.next(), change.made())) {
      progress.before(effect);
      disks.prepare(effect, progress);
      progress.prepared(effect);
      if (effect.pauses()) {
        disks.suspend();
        progress.paused(effect);
      }
      disks.apply(effect);
      progress.after(effect);
      if (!opened.files().isEmpty()) {
        disks.mustHaveOpen(local(record.plan()), opened.files());
      }
    }
  }

  /** The disks of a VM that its QEMU is known by. */
  private static List<String> local(Plan plan) {
    return plan.disks().stream()
        .flatMap(disk -> disk.chain().stream())
        .filter(link -> link.network() == null)
        .map(PlannedDisk.Link::toString)
        .toList();
  }

  private void settleAfter(VmRecord record, Exception cause) {
    try {
      settle(record);
    } catch (IOException | RuntimeException e) {
      // The record is still there, and the next command goes on from it.
      cause.addSuppressed(e);
    }
  }

  /** Ends the guest if there is a change to settle. */
  void endUnsettled(VmRecord record, Shutdown shutdown) {
    if (!Files.exists(layout.change(record.directory()))) {
      return;
    }
    try {
      runner.askToEnd(record.plan(), shutdown);
    } catch (PlatterException e) {
      Cancellation.check();
      progress.warning(
          "the guest of the VM " + record.plan().key() + " cannot be asked: " + e.getMessage());
    }
    runner.end(record.plan());
  }

  /** Finishes a change that was begun or takes it back; nothing happens if there is none. */
  void settle(VmRecord record) throws IOException {
    var found = read(layout, record);
    if (found.isEmpty()) {
      return;
    }
    var change = found.get();
    if (!change.decided()) {
      var disks = runner.disks(record.plan());
      disks.suspend();
      if (disks.has(change.effect()) && OpenDisks.opens(change.next(), change.made())) {
        disks.apply(new LiveEffect.Detach(change.effect().device()));
      }
      if (!disks.has(change.effect())) {
        takeBack(record, change);
        return;
      }
      write(record, change.decide());
    }
    finish(record, change);
  }

  private void takeBack(VmRecord record, DiskChange change) throws IOException {
    var disks = runner.disks(record.plan());
    disks.abandon(change.effect());
    disks.resume();
    for (var step : change.made().reversed()) {
      progress.beforeUndo(step);
      runner.undo(change.next(), step, record.plan().steps());
      progress.afterUndo(step);
    }
    Durable.delete(layout.change(record.directory()));
  }

  private void finish(VmRecord record, DiskChange change) throws IOException {
    progress.decided(change.effect());
    runner.disks(record.plan()).resume();
    var directory = record.directory();
    Durable.publish(layout.domainXml(directory), change.domainXml());
    Journal.publish(layout.journal(directory), allDone(change.next()));
    Durable.publish(layout.plan(directory), PlanJson.write(change.next()));
    progress.published(change.effect());
    for (var step : change.dropped().reversed()) {
      progress.beforeUndo(step);
      runner.undo(change.next(), step, change.next().steps());
      progress.afterUndo(step);
    }
    Durable.delete(layout.change(directory));
    runner.poolsChanged(change.next());
  }

  private static Journal.State allDone(Plan plan) {
    var steps = new TreeSet<>(IntStream.range(0, plan.steps().size()).boxed().toList());
    return new Journal.State(null, true, true, steps, OptionalInt.empty(), Map.of());
  }

  private void write(VmRecord record, DiskChange change) throws IOException {
    Durable.publish(layout.change(record.directory()), PlanJson.write(change));
  }

  static Optional<DiskChange> read(StateLayout layout, VmRecord record) throws IOException {
    var file = layout.change(record.directory());
    try {
      return Optional.of(PlanJson.readChange(Files.readString(file)));
    } catch (NoSuchFileException e) {
      return Optional.empty();
    } catch (IllegalArgumentException e) {
      throw PlatterException.of(
          Code.INTERNAL,
          "the change of the VM " + record.plan().key() + " cannot be read: " + e.getMessage(),
          "It is in " + file + "; was it written by another version of Platter?",
          e);
    }
  }
}
