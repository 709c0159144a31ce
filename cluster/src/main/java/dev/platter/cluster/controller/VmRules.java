package dev.platter.cluster.controller;

import dev.platter.cluster.api.Condition;
import dev.platter.cluster.api.Conditions;
import dev.platter.cluster.api.Names;
import dev.platter.cluster.api.Reason;
import dev.platter.cluster.api.VirtualMachine;
import dev.platter.cluster.api.VmPhase;
import dev.platter.cluster.api.VmStatus;
import dev.platter.cluster.api.VmStatus.SourceStatus;
import dev.platter.cluster.controller.Decision.Intent;
import dev.platter.cluster.controller.PodView.Outcome;
import dev.platter.model.ContainerImageSource;
import dev.platter.model.PlatterException;
import dev.platter.model.Vm;
import io.fabric8.kubernetes.api.model.Pod;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * What is to be done about a VM, from what is known of it. Pure.
 *
 * <p>At most one pod can be a VM's at a time, since it has the VM's name; so a VM never runs twice
 * as long as no pod object vanishes before its guest has ended. On a node that answers, kubelet
 * sees to that. From a node that does not, the pod is never removed here: the VM stays where it is
 * until the node is back, or until somebody who knows that the machine is off says so, by {@code
 * kubectl delete pod --force}, by the node's taint {@code node.kubernetes.io/out-of-service}, or by
 * removing the node.
 *
 * <p>A VM with disks that are kept on a node starts only there. A change of the VM never touches a
 * pod that a node has, but for {@code running: false}, which shuts it down. The disks of a deleted
 * VM are removed by the nodes that have them, which then take their finalizers away; only for a
 * node that the cluster does not have any more is that done here.
 */
final class VmRules {
  static final Duration SHORTEST_WAIT = Duration.ofSeconds(10);
  static final Duration LONGEST_WAIT = Duration.ofMinutes(5);

  /** A VM that ran for this long before it ended is not one that ends again and again. */
  static final Duration STEADY = Duration.ofMinutes(10);

  /** How often a name that another pod has is tried again: nothing tells when it is free. */
  static final Duration NAME_WAIT = Duration.ofSeconds(30);

  private final VmView view;
  private final VirtualMachine vm;
  private final VmStatus before;
  private final @Nullable PodView pod;
  private final Conditions conditions;
  private final List<Intent> intents = new ArrayList<>();
  private List<SourceStatus> remembered;
  private @Nullable VmSpec spec;
  private @Nullable Vm machine;
  private String problem = "";
  private @Nullable Integer exitCode;

  private VmRules(VmView view) {
    this.view = view;
    this.vm = view.vm();
    this.before = VmStatus.of(vm);
    Pod found = view.pod();
    this.pod = found == null || !VmPod.ownedBy(vm, found) ? null : new PodView(found);
    this.remembered = view.sources().statuses();
    this.conditions =
        new Conditions(before.conditions(), vm.getMetadata().getGeneration(), view.now());
  }

  static Decision decide(VmView view) {
    return new VmRules(view).decide();
  }

  /** The server would not have the VM's pod. */
  static Decision refused(VmView view, @Nullable String answer) {
    var why = new Outcome(Reason.REFUSED, "The pod could not be made: " + answer);
    return new VmRules(view).outcome(VmPhase.PENDING, why, null, view.restarts());
  }

  private Decision decide() {
    if (vm.getMetadata().getDeletionTimestamp() != null) {
      return pod == null ? release() : stop(pod, Reason.STOPPING);
    }
    if (!VmSpec.running(vm)) {
      return pod == null ? outcome(VmPhase.STOPPED, Reason.HALTED) : stop(pod, Reason.HALTED);
    }
    read();
    if (pod == null) {
      return view.pod() == null ? start() : taken();
    }
    var lost = view.sources().lost();
    if (lost != null && !pod.finished()) {
      return withoutDisk(pod, lost);
    }
    if (pod.deleting()) {
      return stop(pod, Reason.STOPPING);
    }
    return pod.finished() ? ended(pod) : alive(pod);
  }

  private void read() {
    try {
      spec = VmSpec.of(vm);
      machine = spec.read(vm);
    } catch (PlatterException e) {
      var lines = new ArrayList<String>();
      lines.add(String.valueOf(e.getMessage()));
      lines.addAll(e.details());
      problem = String.join("\n", lines);
    }
  }

  private Decision start() {
    if (spec == null || machine == null) {
      return outcome(VmPhase.FAILED, new Outcome(Reason.INVALID, problem), null, 0);
    }
    var ready = before.condition(Condition.READY);
    if (ready != null && hasGivenUp(vm, spec)) {
      var message = ready.message() == null ? "" : ready.message();
      return outcome(VmPhase.FAILED, new Outcome(Reason.DISK_LOST, message), null, 0);
    }
    var lost = before.condition(Condition.DISK_LOST);
    var due = lost == null ? view.now() : dueAfter(lost, view.restarts());
    if (lost != null && due.isAfter(view.now())) {
      conditions.keep(lost);
      var when = lost.message() + " It is started again at " + due + ".";
      var left = Duration.between(view.now(), due);
      return outcome(VmPhase.PENDING, new Outcome(Reason.DISK_LOST, when), left, view.restarts());
    }
    var home = KeptDisks.any(machine) ? before.nodeName() : null;
    if (home != null && view.node() == NodeState.GONE) {
      return outcome(
          VmPhase.PENDING,
          new Outcome(
              Reason.NODE_LOST,
              "The VM's disks are kept on the node "
                  + home
                  + ", which the cluster does not have any more. Bring it back, or delete the VM."),
          null,
          view.restarts());
    }
    if (!finalizer()) {
      intents.add(new Decision.AddFinalizer());
    }
    var sources = view.sources();
    if (sources.waiting() != null) {
      return outcome(VmPhase.PENDING, sources.waiting(), null, view.restarts());
    }
    if (!sources.answers(machine)) {
      var why = new Outcome(Reason.WAITING_FOR_SOURCE, Reason.WAITING_FOR_SOURCE.sentence());
      return outcome(VmPhase.PENDING, why, null, view.restarts());
    }
    remembered = sources.given();
    var answered = spec.answered(machine, remembered);
    intents.add(new Decision.CreatePod(VmPod.of(vm, answered, machine, home, view.restarts())));
    return outcome(
        VmPhase.PENDING,
        new Outcome(Reason.CREATED, Reason.CREATED.sentence()),
        null,
        view.restarts());
  }

  private Decision taken() {
    var message =
        "There is a pod "
            + vm.getMetadata().getName()
            + " that is not this VM's. Delete it, or give the VM another name.";
    return outcome(
        VmPhase.PENDING, new Outcome(Reason.POD_EXISTS, message), NAME_WAIT, view.restarts());
  }

  private Decision stop(PodView mine, Reason reason) {
    if (!mine.deleting()) {
      intents.add(new Decision.DeletePod(mine.pod()));
    }
    scheduled(mine);
    var lost = lost(mine);
    return outcome(
        VmPhase.STOPPING,
        lost != null ? lost : new Outcome(reason, Reason.STOPPING.sentence()),
        null,
        0);
  }

  /** Not for its guest to find out: it would go on with what it has in its memory. */
  private Decision withoutDisk(PodView mine, Outcome why) {
    if (!mine.deleting()) {
      intents.add(new Decision.DeletePod(mine.pod()));
    }
    scheduled(mine);
    conditions.add(Condition.DISK_LOST, true, why.reason(), why.message());
    return outcome(VmPhase.STOPPING, why, null, lossesWith(mine));
  }

  /** How often the VM has lost a disk, or crashed, soon after it was started. */
  private int lossesWith(PodView mine) {
    var ready = before.condition(Condition.READY);
    if (before.condition(Condition.DISK_LOST) != null) {
      return Math.max(1, view.restarts()); // This loss is counted.
    }
    var steady =
        ready != null
            && "True".equals(ready.status())
            && !ready.since().plus(STEADY).isAfter(view.now());
    return steady ? 1 : mine.restarts() + 1;
  }

  /** After a first loss the VM is started at once. */
  private static Instant dueAfter(Condition lost, int losses) {
    return losses <= 1 ? Instant.EPOCH : lost.since().plus(wait(losses - 2));
  }

  /**
   * Whether a VM that is not to be started again has lost a disk. Its pod, which would say so, is
   * gone; what its status says counts until somebody wants it stopped.
   */
  static boolean hasGivenUp(VirtualMachine vm, VmSpec spec) {
    var ready = VmStatus.of(vm).condition(Condition.READY);
    return !spec.restart().after(true)
        && ready != null
        && Reason.DISK_LOST.word().equals(ready.reason());
  }

  private Decision ended(PodView mine) {
    var end = mine.end();
    if (spec == null || machine == null) {
      return outcome(VmPhase.FAILED, new Outcome(Reason.INVALID, problem), null, 0);
    }
    var runsImage = machine.bootDisk().source() instanceof ContainerImageSource;
    exitCode = runsImage ? mine.exitCode() : null;
    if (!spec.restart().after(mine.failed())) {
      var well = runsImage ? VmPhase.SUCCEEDED : VmPhase.STOPPED;
      return outcome(mine.failed() ? VmPhase.FAILED : well, end, null, 0);
    }
    var restarts = mine.ranFor().compareTo(STEADY) >= 0 ? 0 : mine.restarts();
    var due = mine.endedAt().plus(wait(restarts));
    if (due.isAfter(view.now())) {
      var when = due.truncatedTo(ChronoUnit.SECONDS);
      return outcome(
          VmPhase.PENDING,
          new Outcome(end.reason(), end.message() + " It is started again at " + when + "."),
          Duration.between(view.now(), due),
          restarts);
    }
    intents.add(new Decision.DeletePod(mine.pod()));
    return outcome(
        VmPhase.PENDING,
        new Outcome(Reason.RESTARTING, Reason.RESTARTING.sentence()),
        null,
        restarts + 1);
  }

  static Duration wait(int restarts) {
    var wait = SHORTEST_WAIT.multipliedBy(1L << Math.min(restarts, 10));
    return wait.compareTo(LONGEST_WAIT) > 0 ? LONGEST_WAIT : wait;
  }

  private Decision alive(PodView mine) {
    scheduled(mine);
    changed(mine);
    var lost = lost(mine);
    if (!mine.scheduled()) {
      return unscheduled(mine);
    }
    var stall = mine.stall();
    if (stall != null) {
      return outcome(VmPhase.RUNNING, lost != null ? lost : stall, null, 0);
    }
    if (!mine.running()) {
      return outcome(VmPhase.STARTING, lost != null ? lost : mine.delay(), null, 0);
    }
    return lost != null
        ? outcome(VmPhase.RUNNING, lost, null, 0)
        : outcome(VmPhase.RUNNING, Reason.RUNNING);
  }

  /** No node has seen the pod, so it can be made anew if it is not what it should be. */
  private Decision unscheduled(PodView mine) {
    if (conditions.has(Condition.RESTART_REQUIRED) && machine != null) {
      intents.add(new Decision.DeletePod(mine.pod()));
    }
    var why = mine.condition(Condition.POD_SCHEDULED);
    var message = why == null ? null : why.getMessage();
    return outcome(
        VmPhase.SCHEDULING,
        new Outcome(
            Reason.WAITING_FOR_NODE,
            message == null ? Reason.WAITING_FOR_NODE.sentence() : message),
        null,
        mine.restarts());
  }

  private void scheduled(PodView mine) {
    var pod = mine.condition(Condition.POD_SCHEDULED);
    if (pod != null) {
      var up = "True".equals(pod.getStatus());
      var reason = up ? "Scheduled" : Reason.WAITING_FOR_NODE.word();
      conditions.add(
          Condition.POD_SCHEDULED,
          up ? "True" : "False",
          reason,
          pod.getMessage() == null ? "" : pod.getMessage());
    }
  }

  private void changed(PodView mine) {
    if (spec == null || machine == null) {
      conditions.add(Condition.RESTART_REQUIRED, true, Reason.INVALID, problem);
    } else if (!spec.version().equals(mine.annotation(VmPod.VERSION))) {
      conditions.add(Condition.RESTART_REQUIRED, true, Reason.CHANGED, Reason.CHANGED.sentence());
    }
  }

  private @Nullable Outcome lost(PodView mine) {
    if (!mine.scheduled() || mine.finished() || view.node() == NodeState.UP) {
      return null;
    }
    var message =
        "The node "
            + VmView.nodeName(vm, mine.pod())
            + " does not answer. The VM is started nowhere else until the node is back, or its"
            + " pod is gone: if the machine is off for certain, taint the node"
            + " node.kubernetes.io/out-of-service=nodeshutdown:NoExecute.";
    conditions.add(Condition.NODE_LOST, true, Reason.NODE_LOST, message);
    return new Outcome(Reason.NODE_LOST, message);
  }

  private Decision release() {
    var node = before.nodeName();
    var message = (node == null ? "A node" : "The node " + node) + " removes the VM's disks.";
    if (finalizer()) {
      if (vm.getMetadata().getFinalizers().stream()
          .noneMatch(name -> name.startsWith(Names.FINALIZER_PREFIX))) {
        var sources = view.sources();
        if (sources.waiting() != null) {
          return outcome(VmPhase.STOPPING, sources.waiting(), null, 0);
        }
        if (before.sources().isEmpty()) {
          intents.add(new Decision.RemoveFinalizer());
        }
      } else if (node != null && view.node() == NodeState.LOST) {
        message = "The VM's disks are on the node " + node + ", which does not answer.";
        conditions.add(Condition.NODE_LOST, true, Reason.NODE_LOST, message);
      }
    }
    return outcome(VmPhase.STOPPING, new Outcome(Reason.STOPPING, message), null, 0);
  }

  private boolean finalizer() {
    return vm.getMetadata().getFinalizers().contains(Names.FINALIZER);
  }

  private Decision outcome(VmPhase phase, Reason reason) {
    return outcome(phase, new Outcome(reason, reason.sentence()), null, 0);
  }

  private Decision outcome(VmPhase phase, Outcome why, @Nullable Duration again, int restarts) {
    conditions.add(Condition.READY, why.reason() == Reason.RUNNING, why.reason(), why.message());
    var status =
        new VmStatus(
                phase,
                conditions.all(),
                VmView.nodeName(vm, view.pod()),
                remembered,
                List.of(),
                vm.getMetadata().getGeneration())
            .withExitCode(exitCode);
    tell(status, Condition.READY);
    tell(status, Condition.RESTART_REQUIRED);
    return new Decision(intents, status, again, restarts);
  }

  /** An event for each condition that has another reason than before. */
  private void tell(VmStatus status, String type) {
    var was = before.condition(type);
    var is = status.condition(type);
    if (is == null || is.reason() == null || (was != null && is.reason().equals(was.reason()))) {
      return;
    }
    for (var reason : Reason.values()) {
      if (reason.word().equals(is.reason())) {
        intents.add(new Decision.Event(reason, is.message() == null ? "" : is.message()));
      }
    }
  }
}
