package dev.platter.cluster.controller;

import dev.platter.cluster.api.Condition;
import dev.platter.cluster.api.Conditions;
import dev.platter.cluster.api.Finalizers;
import dev.platter.cluster.api.MigrationPhase;
import dev.platter.cluster.api.Names;
import dev.platter.cluster.api.Reason;
import dev.platter.cluster.api.VirtualMachine;
import dev.platter.cluster.api.VirtualMachineMigration;
import dev.platter.cluster.api.VirtualMachineMigration.Status;
import dev.platter.cluster.api.VmStatus;
import dev.platter.model.PlatterException;
import io.fabric8.kubernetes.api.model.Node;
import io.fabric8.kubernetes.api.model.PersistentVolumeClaimVolumeSource;
import io.fabric8.kubernetes.api.model.Pod;
import io.fabric8.kubernetes.api.model.Volume;
import io.fabric8.kubernetes.client.KubernetesClientException;
import java.net.HttpURLConnection;
import java.time.Duration;
import java.time.InstantSource;
import java.util.Comparator;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * Brings a migration so far that the node of the VM can move it: a pod of the VM on another node.
 * From then on until it is over everything is said by that node. Where the VM is then, its own
 * status says; the pod that it is not in is deleted.
 */
final class MigrationReconciler implements ControlLoop.Work {
  /** What informers know. */
  interface Known {
    @Nullable VirtualMachineMigration migration(String key);

    List<VirtualMachineMigration> migrations(String namespace);

    @Nullable VirtualMachine vm(String key);

    @Nullable Pod pod(String key);

    @Nullable Node node(String name);
  }

  private static final int TOO_MANY_REQUESTS = 429;

  private final Known known;
  private final Cluster cluster;
  private final InstantSource clock;

  MigrationReconciler(Known known, Cluster cluster, InstantSource clock) {
    this.known = known;
    this.cluster = cluster;
    this.clock = clock;
  }

  /** The key of the VM that it is about. */
  static String vm(VirtualMachineMigration migration) {
    return migration.getMetadata().getNamespace() + "/" + migration.getSpec().vm();
  }

  @Override
  public @Nullable Duration reconcile(String key) {
    var migration = known.migration(key);
    if (migration == null) {
      return null;
    }
    var vm = known.vm(vm(migration));
    if (migration.ended()) {
      return tidy(migration);
    }
    return switch (Optional.ofNullable(migration.said().phase()).orElse(MigrationPhase.PENDING)) {
      case PENDING -> begin(migration, vm);
      case PREPARING -> prepare(migration, vm);
      case MOVING -> follow(migration, vm);
      case SUCCEEDED, FAILED -> null;
    };
  }

  private @Nullable Duration begin(VirtualMachineMigration migration, @Nullable VirtualMachine vm) {
    if (migration.cancelled()) {
      return fail(migration, Reason.CANCELLED, Reason.CANCELLED.sentence());
    }
    if (vm == null) {
      return fail(migration, Reason.NOT_FOUND, "There is no VM " + migration.getSpec().vm() + ".");
    }
    if (!migration.getMetadata().getFinalizers().contains(Names.MIGRATION_FINALIZER)) {
      cluster.keep(migration, vm);
      return null; // It comes again.
    }
    var first = first(migration);
    if (!first.equals(migration)) {
      var name = first.getMetadata().getName();
      return wait(migration, Reason.WAITING_FOR_MIGRATION, "It waits for " + name + ".");
    }
    var status = VmStatus.of(vm);
    var from = status.nodeName();
    var pod = known.pod(podKey(vm, status.pod(vm.getMetadata().getName())));
    if (!status.ready() || from == null || pod == null || !new PodView(pod).running()) {
      return wait(migration, Reason.WAITING_FOR_VM, Reason.WAITING_FOR_VM.sentence());
    }
    if (from.equals(migration.getSpec().node())) {
      return fail(migration, Reason.INVALID, "The VM is on " + from + " already.");
    }
    var bound = bound(pod);
    return bound.isEmpty()
        ? create(migration, vm, new PodView(pod), from)
        : fail(migration, Reason.UNSUPPORTED, bound);
  }

  /** What keeps a VM where it is, as its pod shows already; a node knows the rest. */
  private static String bound(Pod pod) {
    var claims =
        pod.getSpec().getVolumes().stream()
            .map(Volume::getPersistentVolumeClaim)
            .filter(Objects::nonNull)
            .map(PersistentVolumeClaimVolumeSource::getClaimName)
            .toList();
    return claims.isEmpty()
        ? ""
        : "The claim %s is mounted by the kubelet of the VM's node, and such a disk does not move; claims on iSCSI and RBD volumes do."
            .formatted(String.join(", ", claims));
  }

  /**
   * The one that comes first of those that are not over. One that has begun stays the first: others
   * may have been made in the same second.
   */
  private VirtualMachineMigration first(VirtualMachineMigration migration) {
    return known.migrations(migration.getMetadata().getNamespace()).stream()
        .filter(other -> other.getSpec().vm().equals(migration.getSpec().vm()) && !other.ended())
        .min(
            Comparator.comparing(
                    (VirtualMachineMigration it) ->
                        it.said().phase() == null || it.said().phase() == MigrationPhase.PENDING)
                .thenComparing(it -> it.getMetadata().getCreationTimestamp())
                .thenComparing(it -> it.getMetadata().getUid()))
        .orElse(migration);
  }

  private @Nullable Duration create(
      VirtualMachineMigration migration, VirtualMachine vm, PodView source, String from) {
    var name = target(migration);
    try {
      var spec = VmSpec.of(vm);
      if (!spec.version().equals(source.annotation(VmPod.VERSION))) {
        return fail(
            migration,
            Reason.CHANGED,
            "The VM's description has changed since it was started. Start it anew first.");
      }
      var machine = spec.read(vm);
      var answered = spec.answered(machine, VmStatus.of(vm).sources());
      cluster.create(VmPod.moved(vm, answered, machine, name, from, migration.getSpec().node()));
    } catch (PlatterException e) {
      return fail(migration, Reason.INVALID, String.valueOf(e.getMessage()));
    } catch (KubernetesClientException e) {
      if (!isAnswer(e)) {
        throw e; // It may have been made.
      }
      if (e.getCode() != HttpURLConnection.HTTP_CONFLICT) {
        fail(migration, Reason.REFUSED, "The pod could not be made: " + e.getMessage());
        return null;
      }
    }
    cluster.status(
        migration,
        new Status(
            MigrationPhase.PREPARING,
            conditions(migration, Reason.WAITING_FOR_NODE, Reason.WAITING_FOR_NODE.sentence()),
            from,
            source.pod().getMetadata().getName(),
            null,
            name,
            null,
            null,
            null,
            migration.getMetadata().getGeneration()));
    return null;
  }

  /** Whether asking again would be answered the same. */
  private static boolean isAnswer(KubernetesClientException e) {
    return e.getCode() >= HttpURLConnection.HTTP_BAD_REQUEST
        && e.getCode() < HttpURLConnection.HTTP_INTERNAL_ERROR
        && e.getCode() != HttpURLConnection.HTTP_CLIENT_TIMEOUT
        && e.getCode() != TOO_MANY_REQUESTS;
  }

  private @Nullable Duration prepare(
      VirtualMachineMigration migration, @Nullable VirtualMachine vm) {
    if (migration.cancelled()) {
      return fail(migration, Reason.CANCELLED, Reason.CANCELLED.sentence());
    }
    var from = migration.said().sourceNode();
    if (vm == null
        || !VmStatus.of(vm).ready()
        || !Objects.equals(VmStatus.of(vm).nodeName(), from)) {
      return fail(migration, Reason.WAITING_FOR_VM, "The VM has ended meanwhile, or stands still.");
    }
    var pod = targetPod(migration, vm);
    if (pod == null) {
      return fail(migration, Reason.UNAVAILABLE, "The VM's pod on the other node is gone.");
    }
    var view = new PodView(pod);
    if (view.finished() || view.deleting()) {
      return fail(
          migration,
          Reason.UNAVAILABLE,
          "The VM's pod on the other node ended. " + view.end().message());
    }
    if (!view.started()) {
      return wait(migration, Reason.WAITING_FOR_NODE, view.obstacle());
    }
    var said = conditions(migration, Reason.MOVING, Reason.MOVING.sentence());
    cluster.status(
        migration,
        migration.said().at(MigrationPhase.MOVING, said).onNode(pod.getSpec().getNodeName()));
    return null;
  }

  /** The node that it leaves says how it goes; if it says nothing more, the VM's status does. */
  private @Nullable Duration follow(
      VirtualMachineMigration migration, @Nullable VirtualMachine vm) {
    var from = String.valueOf(migration.said().sourceNode());
    var state = NodeState.of(known.node(from));
    if (vm != null && state == NodeState.UP) {
      return null;
    }
    var now = now(migration);
    if (now != null && state == NodeState.LOST && from.equals(VmStatus.of(now).nodeName())) {
      return null; // It may be on its way, for all that is known here.
    }
    if (now != null && target(migration).equals(VmStatus.of(now).movedTo())) {
      return end(migration, MigrationPhase.SUCCEEDED, Reason.MOVED, Reason.MOVED.sentence());
    }
    return fail(migration, Reason.NODE_LOST, "The node that the VM was on is gone.");
  }

  /**
   * The pod that the VM is not in goes. There may be one at the target that nobody has heard of:
   * who made it can have died before it said so.
   */
  private @Nullable Duration tidy(VirtualMachineMigration migration) {
    if (!migration.getMetadata().getFinalizers().contains(Names.MIGRATION_FINALIZER)) {
      return null;
    }
    var vm = now(migration);
    if (vm != null) {
      if (migration.said().phase() == MigrationPhase.SUCCEEDED) {
        deleteIfLeft(vm, migration.said().sourcePod());
      }
      deleteIfLeft(vm, target(migration));
    }
    cluster.finalizers(migration, Finalizers.without(migration, Names.MIGRATION_FINALIZER));
    return null;
  }

  private void deleteIfLeft(VirtualMachine vm, @Nullable String name) {
    if (name == null || name.equals(VmStatus.of(vm).pod(vm.getMetadata().getName()))) {
      return;
    }
    var pod = cluster.pod(vm.getMetadata().getNamespace(), name);
    if (pod != null && VmPod.ownedBy(vm, pod) && !new PodView(pod).deleting()) {
      cluster.delete(pod);
    }
  }

  /** The informer may not know yet where the VM is. */
  private @Nullable VirtualMachine now(VirtualMachineMigration migration) {
    return cluster.vm(migration.getMetadata().getNamespace(), migration.getSpec().vm());
  }

  private @Nullable Pod targetPod(VirtualMachineMigration migration, VirtualMachine vm) {
    var found = known.pod(podKey(vm, target(migration)));
    return found != null ? found : cluster.pod(vm.getMetadata().getNamespace(), target(migration));
  }

  private @Nullable Duration fail(
      VirtualMachineMigration migration, Reason reason, String message) {
    return end(migration, MigrationPhase.FAILED, reason, message);
  }

  private @Nullable Duration end(
      VirtualMachineMigration migration, MigrationPhase phase, Reason reason, String message) {
    cluster.status(migration, migration.said().at(phase, conditions(migration, reason, message)));
    cluster.event(migration, reason, message);
    return null;
  }

  private @Nullable Duration wait(
      VirtualMachineMigration migration, Reason reason, String message) {
    var phase = Optional.ofNullable(migration.said().phase()).orElse(MigrationPhase.PENDING);
    var status = migration.said().at(phase, conditions(migration, reason, message));
    if (!status.equals(migration.said())) {
      cluster.status(migration, status);
    }
    return null;
  }

  private List<Condition> conditions(
      VirtualMachineMigration migration, Reason reason, String message) {
    return new Conditions(
            migration.said().conditions(), migration.getMetadata().getGeneration(), clock.instant())
        .add(Condition.COMPLETE, reason == Reason.MOVED, reason, message)
        .all();
  }

  private static String podKey(VirtualMachine vm, String name) {
    return vm.getMetadata().getNamespace() + "/" + name;
  }

  private static String target(VirtualMachineMigration migration) {
    return VirtualMachineMigration.podName(migration.getSpec().vm(), migration.move());
  }
}
