package dev.platter.cluster.controller;

import dev.platter.cluster.api.Names;
import dev.platter.cluster.api.Reason;
import dev.platter.cluster.api.VirtualMachine;
import dev.platter.cluster.api.VmStatus;
import dev.platter.cluster.api.VmStatus.SourceStatus;
import dev.platter.cluster.controller.PodView.Outcome;
import dev.platter.cluster.controller.VolumeCalls.Kind;
import dev.platter.model.ContainerSource;
import dev.platter.model.PlatterException;
import io.fabric8.kubernetes.api.model.Pod;
import io.fabric8.kubernetes.client.KubernetesClientException;
import java.net.HttpURLConnection;
import java.time.Duration;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * The volumes that containers make for VMs: each container runs in a pod of the VM's own, for as
 * long as the VM exists.
 *
 * <p>A VM's pod is made when all have answered, with the answers in the place of the containers:
 * only so can a claim that was answered be mounted by the kubelet, and no node needs to know of
 * containers. When the VM goes, the volumes go after its pod and its disks on nodes, and before the
 * object itself.
 *
 * <p>Who is asked is written into the VM's status before, and the answer there before it is used.
 * So whoever leads next goes on from there; a request that is sent again means the same volume.
 */
final class Sources {
  private final VmReconciler.Known known;
  private final Cluster cluster;
  private final VolumeCalls calls;
  private final Consumer<String> again;
  private final InstantSource clock;

  /**
   * @param again is told the key of a VM that is to be looked at
   */
  Sources(
      VmReconciler.Known known,
      Cluster cluster,
      VolumeCalls calls,
      Consumer<String> again,
      InstantSource clock) {
    this.known = known;
    this.cluster = cluster;
    this.calls = calls;
    this.again = again;
    this.clock = clock;
  }

  /** Does what can be done now. */
  SourceView tend(String key, VirtualMachine vm) {
    var before = VmStatus.of(vm).sources().stream().filter(source -> source.pod() == null).toList();
    if (before.isEmpty() && !VmSpec.hasContainers(vm)) {
      return SourceView.NONE;
    }
    try {
      return new Round(key, vm, before).tend();
    } catch (PlatterException e) {
      var why = new Outcome(Reason.INVALID, String.valueOf(e.getMessage()));
      return new SourceView(before, why, null);
    }
  }

  /** One look at one VM. */
  private final class Round {
    private final String key;
    private final VirtualMachine vm;
    private final List<SourceStatus> before;
    private final SourcePods pods;
    private final List<SourceStatus> statuses = new ArrayList<>();
    private final @Nullable VmSpec spec;
    private final Map<String, ContainerSource> containers = new LinkedHashMap<>();
    private @Nullable Outcome waiting;
    private @Nullable Duration pause;

    Round(String key, VirtualMachine vm, List<SourceStatus> before) {
      this.key = key;
      this.vm = vm;
      this.before = before;
      this.pods = new SourcePods(known, cluster, clock, vm);
      this.spec = read();
    }

    private @Nullable VmSpec read() {
      try {
        var found = VmSpec.of(vm);
        for (var disk : found.read(vm).disks()) {
          if (disk.source() instanceof ContainerSource container) {
            containers.put(disk.name(), container);
          }
        }
        return found;
      } catch (PlatterException e) {
        return null; // The rules say so; what there is stays.
      }
    }

    SourceView tend() {
      var deleted = vm.getMetadata().getDeletionTimestamp() != null;
      var finalizers = vm.getMetadata().getFinalizers();
      if (deleted) {
        var elsewhere =
            finalizers.stream().anyMatch(name -> name.startsWith(Names.FINALIZER_PREFIX));
        if (elsewhere || pods.vmPod().isPresent()) {
          statuses.addAll(before);
        } else {
          before.forEach(this::unmake);
        }
      } else if (spec == null || !finalizers.contains(Names.FINALIZER)) {
        statuses.addAll(before);
      } else {
        var stale =
            before.stream().filter(status -> !containers.containsKey(status.disk())).toList();
        if (stale.isEmpty() || pods.vmPod().isPresent()) {
          statuses.addAll(stale);
        } else {
          stale.forEach(this::unmake);
        }
        containers.keySet().forEach(this::make);
      }
      return new SourceView(statuses, waiting, pause);
    }

    /** Whoever it belongs to. */
    private boolean hasPodName() {
      var meta = vm.getMetadata();
      var name = VmStatus.of(vm).pod(meta.getName());
      return known.pod(meta.getNamespace() + "/" + name) != null;
    }

    private void make(String disk) {
      var status = before.stream().filter(each -> each.disk().equals(disk)).findFirst();
      status.ifPresent(statuses::add);
      if (status.isEmpty() && (!VmSpec.running(vm) || hasPodName())) {
        return; // It is for the VM's next start.
      }
      var pod = ensure(disk);
      if (status.isPresent() && status.get().answer() != null) {
        return;
      }
      if (pod.isEmpty()) {
        wait(disk, Reason.WAITING_FOR_SOURCE, "Its pod is being made.");
      } else if (!SourcePods.ready(pod.get())) {
        wait(
            disk,
            Reason.WAITING_FOR_SOURCE,
            "It is not ready: " + new PodView(pod.get()).obstacle());
        look(VolumeCalls.PAUSE);
      } else if (status.isEmpty()) {
        begin(disk, pod.get());
      } else {
        ask(status.get(), pod.get());
      }
    }

    private void begin(String disk, Pod pod) {
      var volume = SourcePod.volume(vm, disk);
      switch (call(pod, volume, Kind.READY)) {
        case VolumeCalls.Pending _ ->
            wait(disk, Reason.WAITING_FOR_SOURCE, "It does not answer yet.");
        case VolumeCalls.Failed failed -> {
          wait(disk, Reason.WAITING_FOR_SOURCE, "It does not answer yet: " + failed.why());
          look(VolumeCalls.SHORT_PAUSE);
        }
        case VolumeCalls.Done _ -> {
          statuses.add(new SourceStatus(disk, volume, null, null));
          wait(disk, Reason.WAITING_FOR_SOURCE, "It is asked for a volume.");
        }
      }
    }

    private void ask(SourceStatus status, Pod pod) {
      var disk = status.disk();
      switch (call(pod, status.volume(), Kind.PUT)) {
        case VolumeCalls.Pending _ ->
            wait(disk, Reason.WAITING_FOR_SOURCE, "It is asked for a volume.");
        case VolumeCalls.Failed failed -> failed(disk, failed);
        case VolumeCalls.Done done -> {
          statuses.remove(status);
          statuses.add(new SourceStatus(disk, status.volume(), Answer.json(done.source()), null));
          wait(disk, Reason.WAITING_FOR_SOURCE, "It has made the volume.");
        }
      }
    }

    private void failed(String disk, VolumeCalls.Failed failed) {
      var reason =
          failed.code() == PlatterException.Code.REFUSED ? Reason.REFUSED : Reason.UNAVAILABLE;
      wait(disk, reason, failed.why());
      look(VolumeCalls.PAUSE);
    }

    private void unmake(SourceStatus status) {
      var disk = status.disk();
      var pod = pods.find(disk);
      if (status.answer() == null && pod.filter(SourcePods::ready).isEmpty()) {
        // Nobody ever said that there is a volume, so nobody waits for ever.
        abandon(status, "the container does not run");
        pod.ifPresent(pods::delete);
      } else if (pod.isPresent() && SourcePods.ready(pod.get())) {
        delete(status, pod.get());
      } else if (pod.isPresent() || recreated(status)) {
        statuses.add(status);
        wait(disk, Reason.WAITING_FOR_SOURCE, "It has to run to delete its volume.");
        look(VolumeCalls.PAUSE);
      }
    }

    /** Whether there will be a pod again to delete the volume. */
    private boolean recreated(SourceStatus status) {
      if (!pods.vmHas(status)) {
        return false; // It is deleted, which the informer does not show yet.
      }
      if (spec == null || !containers.containsKey(status.disk())) {
        abandon(status, "its pod is gone");
        return false;
      }
      try {
        create(status.disk());
        return true;
      } catch (KubernetesClientException e) {
        // The namespace is being deleted, or nobody may make such pods any more.
        if (e.getCode() != HttpURLConnection.HTTP_FORBIDDEN
            && e.getCode() != HttpURLConnection.HTTP_NOT_FOUND) {
          throw e;
        }
        abandon(status, e.getMessage());
        return false;
      }
    }

    private void delete(SourceStatus status, Pod pod) {
      var disk = status.disk();
      switch (call(pod, status.volume(), Kind.DELETE)) {
        case VolumeCalls.Pending _ -> {
          statuses.add(status);
          wait(disk, Reason.WAITING_FOR_SOURCE, "It is asked to delete its volume.");
        }
        case VolumeCalls.Failed failed when status.answer() == null -> {
          abandon(status, failed.why());
          pods.delete(pod);
        }
        case VolumeCalls.Failed failed -> {
          statuses.add(status);
          failed(disk, failed);
        }
        case VolumeCalls.Done _ -> pods.delete(pod);
      }
    }

    private void abandon(SourceStatus status, @Nullable String why) {
      cluster.event(
          vm,
          Reason.VOLUME_ABANDONED,
          "The volume " + status.volume() + " of disk " + status.disk() + " may be left: " + why);
    }

    private VolumeCalls.State call(Pod pod, String volume, Kind kind) {
      return calls.call(pod, volume, kind, () -> again.accept(key));
    }

    private Optional<Pod> ensure(String disk) {
      var found = pods.find(disk);
      if (found.isPresent()) {
        pods.renew(found.get());
        return found;
      }
      try {
        create(disk);
      } catch (KubernetesClientException e) {
        wait(disk, Reason.REFUSED, "Its pod could not be made: " + e.getMessage());
        look(VolumeCalls.PAUSE);
      }
      return Optional.empty();
    }

    private void create(String disk) {
      var container = containers.get(disk);
      if (container != null && spec != null) {
        pods.create(new SourcePod(vm, disk, container).make(spec));
      }
    }

    private void wait(String disk, Reason reason, String message) {
      if (waiting == null || waiting.reason() == Reason.WAITING_FOR_SOURCE) {
        waiting = new Outcome(reason, "The container of disk " + disk + ": " + message);
      }
    }

    private void look(Duration after) {
      pause = pause == null || after.compareTo(pause) < 0 ? after : pause;
    }
  }
}
