package dev.platter.cluster.node;

import dev.platter.cluster.api.MigrationPhase;
import dev.platter.cluster.api.VirtualMachineMigration;
import dev.platter.model.PlatterException;
import dev.platter.model.PlatterException.Code;
import dev.platter.node.GuestArrivals;
import dev.platter.plan.Plan;
import dev.platter.plan.VmKey;
import io.fabric8.kubernetes.api.model.Pod;
import io.fabric8.kubernetes.client.KubernetesClientException;
import java.io.IOException;
import java.util.Optional;
import java.util.UUID;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** VMs that may come to this node: those of migrations, whose pods are here. */
final class ExpectedVms implements GuestArrivals.Host {
  /** The migrations of the cluster. */
  interface Migrations {
    /** As the API server has it now. */
    Optional<VirtualMachineMigration> now(String namespace, UUID move);
  }

  private final Migrations migrations;
  private final String node;
  private final PodVms vms;
  private final Api api;

  ExpectedVms(Migrations migrations, String node, PodVms vms, Api api) {
    this.migrations = migrations;
    this.node = node;
    this.vms = vms;
    this.api = api;
  }

  @Override
  public GuestArrivals.Guest admit(String from, VmKey key, UUID move) {
    var migration = found(key, move);
    if (migration == null
        || migration.cancelled()
        || !migration.getSpec().vm().equals(key.name())
        || migration.said().phase() != MigrationPhase.MOVING
        || !from.equals(migration.said().sourceNode())
        || !node.equals(migration.said().targetNode())) {
      throw PlatterException.of(
          Code.REFUSED, "no migration brings the VM %s from %s here".formatted(key, from), "");
    }
    return new Expected(pod(key, move), key, move, from, vms.lock(key));
  }

  /** As the API server has it at this moment. */
  private Pod pod(VmKey key, UUID move) {
    var name = VirtualMachineMigration.podName(key.name(), move);
    return ask(() -> api.pod(key.namespace(), name))
        .filter(it -> node.equals(it.getSpec().getNodeName()))
        .filter(it -> it.getMetadata().getDeletionTimestamp() == null)
        .filter(it -> it.getStatus() != null && "Running".equals(it.getStatus().getPhase()))
        .filter(it -> PodVms.key(it).equals(key))
        .orElseThrow(
            () ->
                PlatterException.of(
                    Code.NOT_FOUND, "the pod %s does not run on %s".formatted(name, node), ""));
  }

  private @Nullable VirtualMachineMigration found(VmKey key, UUID move) {
    return ask(() -> migrations.now(key.namespace(), move)).orElse(null);
  }

  private static <T> Optional<T> ask(Supplier<Optional<T>> question) {
    try {
      return question.get();
    } catch (KubernetesClientException e) {
      throw PlatterException.of(
          Code.UNAVAILABLE, "the API server does not answer: " + e.getMessage(), "", e);
    }
  }

  private final class Expected implements GuestArrivals.Guest {
    private final Pod pod;
    private final VmKey key;
    private final UUID move;
    private final String from;
    private final Locks.Held lock;
    private @Nullable UUID vm;

    Expected(Pod pod, VmKey key, UUID move, String from, Locks.Held lock) {
      this.pod = pod;
      this.key = key;
      this.move = move;
      this.from = from;
      this.lock = lock;
      vms.arrivals().awaited().expect(pod);
    }

    @Override
    public GuestArrivals.Known prepare(Plan sent) throws IOException {
      refuseUnlessThere();
      var known = vms.arrivals().begin(pod, sent, from);
      vm = known.planned().plan().uuid(); // Not what the other node says, which may be another's.
      return known;
    }

    /**
     * What is here of a VM gives way to what comes: so it must not be here, nor in a third place.
     */
    private void refuseUnlessThere() {
      if (ask(() -> api.vm(key.namespace(), key.name()))
          .filter(it -> from.equals(it.node()))
          .isEmpty()) {
        throw PlatterException.of(
            Code.CONFLICT, "the VM %s is not on %s any more".formatted(key, from), "");
      }
    }

    /** Hours may have passed since it was let in. */
    @Override
    public void confirm() {
      var now = pod(key, move);
      if (!now.getMetadata().getUid().equals(pod.getMetadata().getUid())
          || !vms.arrivals().awaited().take(pod)) {
        throw PlatterException.of(
            Code.CONFLICT, "the pod that the VM %s comes to is ending".formatted(key), "");
      }
    }

    @Override
    public void close() {
      try (lock) {
        vms.arrivals().end(key, vm);
      } finally {
        vms.arrivals().awaited().forget(pod);
      }
    }
  }
}
