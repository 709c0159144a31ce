package dev.platter.cluster.controller;

import dev.platter.cluster.api.Names;
import dev.platter.cluster.api.Reason;
import dev.platter.cluster.api.VirtualMachine;
import dev.platter.cluster.api.VmStatus;
import dev.platter.cluster.api.VmStatus.SourceStatus;
import dev.platter.cluster.controller.PodView.Outcome;
import dev.platter.model.PlatterException;
import dev.platter.model.ServedSource;
import io.fabric8.kubernetes.api.model.Pod;
import io.fabric8.kubernetes.client.KubernetesClientException;
import java.time.Duration;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * The images that serve disks to VMs, each in a pod of the VM's own: made before the VM's pod,
 * removed after it, and never used for a second one.
 *
 * <p>The status of the VM has the iSCSI name of each from before its pod is made. The answer stands
 * beside it from before the VM's pod is made with it, and means that the disk may have been written
 * to: without a pod of the VM it is removed, whoever leads by then.
 */
final class Wrappers {
  /** How long one that has ended before it was used is left for people to look at. */
  static final Duration RETRY = Duration.ofSeconds(30);

  private final VmReconciler.Known known;
  private final Cluster cluster;
  private final InstantSource clock;

  Wrappers(VmReconciler.Known known, Cluster cluster, InstantSource clock) {
    this.known = known;
    this.cluster = cluster;
    this.clock = clock;
  }

  /**
   * Does what can be done now.
   *
   * @param pod of the name that the VM's has, whoever it belongs to
   */
  SourceView tend(VirtualMachine vm, @Nullable Pod pod) {
    var before = VmStatus.of(vm).sources().stream().filter(source -> source.pod() != null).toList();
    return before.isEmpty() && !VmSpec.hasServed(vm)
        ? SourceView.NONE
        : new Round(vm, pod, before).tend();
  }

  /** One look at one VM. */
  private final class Round {
    private final VirtualMachine vm;
    private final List<SourceStatus> before;
    private final SourcePods pods;
    private final @Nullable PodView mine;
    private final Map<String, String> images = new LinkedHashMap<>();
    private final List<SourceStatus> statuses = new ArrayList<>();
    private final List<SourceStatus> offers = new ArrayList<>();
    private @Nullable VmSpec spec;
    private @Nullable Outcome waiting;
    private @Nullable Outcome lost;
    private @Nullable Duration pause;

    Round(VirtualMachine vm, @Nullable Pod pod, List<SourceStatus> before) {
      this.vm = vm;
      this.before = before;
      this.pods = new SourcePods(known, cluster, clock, vm);
      this.mine = pod == null || !VmPod.ownedBy(vm, pod) ? null : new PodView(pod);
      if (starts()) {
        read();
      }
    }

    private boolean starts() {
      return vm.getMetadata().getDeletionTimestamp() == null
          && vm.getMetadata().getFinalizers().contains(Names.FINALIZER)
          && VmSpec.running(vm)
          && mine == null;
    }

    private void read() {
      try {
        var found = VmSpec.of(vm);
        if (VmRules.hasGivenUp(vm, found)) {
          return;
        }
        for (var disk : found.read(vm).disks()) {
          if (disk.source() instanceof ServedSource(var image)) {
            images.put(disk.name(), image);
          }
        }
        spec = found;
      } catch (PlatterException e) {
        images.clear(); // The rules say what is wrong.
      }
    }

    SourceView tend() {
      for (var status : before) {
        if (mine != null && !mine.finished()) {
          hold(mine, status);
        } else if (images.containsKey(status.disk()) && status.answer() == null) {
          prepare(status);
        } else {
          remove(status);
        }
      }
      for (var disk : images.keySet()) {
        if (before.stream().noneMatch(status -> status.disk().equals(disk))) {
          var target = WrapperPod.newTarget(vm, disk);
          statuses.add(new SourceStatus(disk, target, null, SourcePod.name(vm, disk)));
          wait(disk, Reason.WAITING_FOR_SOURCE, "Its pod is being made.");
        }
      }
      return new SourceView(statuses, waiting, pause, offers, lost);
    }

    private Optional<Pod> find(SourceStatus status) {
      return pods.find(status.disk()).filter(pod -> WrapperPod.serves(pod, status.volume()));
    }

    /** A VM has its pod, so what that was told is true, even if the VM's status is behind. */
    private void hold(PodView vmPod, SourceStatus status) {
      var pod = find(status);
      var used = vmPod.annotation(Names.VM).contains(status.volume());
      if (used && pod.filter(WrapperPod::lives).isEmpty()) {
        pod = pods.now(status.disk()).filter(it -> WrapperPod.serves(it, status.volume()));
      }
      if (used && pod.filter(WrapperPod::lives).isEmpty()) {
        statuses.add(status);
        lost = new Outcome(Reason.DISK_LOST, lost(status, pod));
      } else {
        statuses.add(used && status.answer() == null ? given(status, pod.get()) : status);
      }
    }

    private static String lost(SourceStatus status, Optional<Pod> pod) {
      var how =
          pod.isEmpty()
              ? "is gone"
              : new PodView(pod.get()).finished()
                  ? "has ended (" + new PodView(pod.get()).end().message().strip() + ")"
                  : "is being removed";
      return "The pod %s that served the disk %s %s, and what the guest wrote went with it. The guest is ended."
          .formatted(status.pod(), status.disk(), how);
    }

    private static SourceStatus given(SourceStatus status, Pod pod) {
      return new SourceStatus(status.disk(), status.volume(), WrapperPod.answer(pod), status.pod());
    }

    private void prepare(SourceStatus status) {
      statuses.add(status);
      var disk = status.disk();
      var found = pods.find(disk);
      if (found.isEmpty()) {
        create(status);
        return;
      }
      var pod = found.get();
      var view = new PodView(pod);
      if (!WrapperPod.serves(pod, status.volume())
          || !WrapperPod.image(pod).equals(images.get(disk))) {
        pods.delete(pod);
        wait(disk, Reason.WAITING_FOR_SOURCE, "The pod before it is being removed.");
      } else if (view.finished()) {
        ended(disk, view);
      } else if (SourcePods.ready(pod)) {
        offers.add(given(status, pod));
      } else {
        pods.renew(pod);
        wait(disk, Reason.WAITING_FOR_SOURCE, "It is not ready: " + view.obstacle());
        look(VolumeCalls.PAUSE);
      }
    }

    private void ended(String disk, PodView view) {
      wait(
          disk,
          Reason.UNAVAILABLE,
          "It has ended: "
              + view.end().message().strip()
              + " An image that serves itself is made FROM platter.dev/disk, or by platter build.");
      var left = Duration.between(clock.instant(), view.endedAt().plus(RETRY));
      if (left.isPositive()) {
        look(left);
      } else {
        pods.delete(view.pod());
      }
    }

    private void create(SourceStatus status) {
      var disk = status.disk();
      var image = images.get(disk);
      if (spec == null || image == null) {
        return;
      }
      wait(disk, Reason.WAITING_FOR_SOURCE, "Its pod is being made.");
      try {
        pods.create(WrapperPod.make(vm, disk, image, status.volume(), spec));
      } catch (KubernetesClientException e) {
        wait(disk, Reason.REFUSED, "Its pod could not be made: " + e.getMessage());
        look(VolumeCalls.PAUSE);
      }
    }

    /** It is remembered for as long as its pod is there, and the VM is not started before. */
    private void remove(SourceStatus status) {
      var pod = find(status);
      var inUse = pods.vmPod().filter(it -> !new PodView(it).finished()).isPresent();
      if (pod.isPresent() && !inUse) {
        pods.delete(pod.get());
      }
      if (pod.isPresent() || inUse) {
        statuses.add(status);
        wait(status.disk(), Reason.WAITING_FOR_SOURCE, "The pod before it is being removed.");
      }
    }

    private void wait(String disk, Reason reason, String message) {
      if (waiting == null || waiting.reason() == Reason.WAITING_FOR_SOURCE) {
        waiting = new Outcome(reason, "The image that serves disk " + disk + ": " + message);
      }
    }

    private void look(Duration after) {
      pause = pause == null || after.compareTo(pause) < 0 ? after : pause;
    }
  }
}
