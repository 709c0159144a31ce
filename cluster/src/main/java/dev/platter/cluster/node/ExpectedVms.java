package dev.platter.cluster.node;

import dev.platter.cluster.api.MigrationPhase;
import dev.platter.cluster.api.VirtualMachineMigration;
import dev.platter.model.PlatterException;
import dev.platter.model.PlatterException.Code;
import dev.platter.model.SecretData;
import dev.platter.node.GuestArrivals;
import dev.platter.plan.Plan;
import dev.platter.plan.VmKey;
import io.fabric8.kubernetes.api.model.Pod;
import io.fabric8.kubernetes.client.KubernetesClientException;
import java.io.IOException;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/** VMs that may come to this node: those of migrations, whose pods are here. */
final class ExpectedVms implements GuestArrivals.Host {
  private final KubeMigrations migrations;
  private final String node;
  private final PodVms vms;
  private final Api api;

  ExpectedVms(KubeMigrations migrations, String node, PodVms vms, Api api) {
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
    var name = VirtualMachineMigration.podName(key.name(), move);
    var pod =
        api.pod(key.namespace(), name)
            .filter(it -> node.equals(it.getSpec().getNodeName()))
            .filter(it -> it.getMetadata().getDeletionTimestamp() == null)
            .filter(it -> PodVms.key(it).equals(key))
            .orElseThrow(
                () ->
                    PlatterException.of(
                        Code.NOT_FOUND, "the pod %s is not on %s".formatted(name, node), ""));
    return new Expected(pod, from, vms.lock(key));
  }

  private @Nullable VirtualMachineMigration found(VmKey key, UUID move) {
    try {
      return migrations.now(key.namespace(), move).orElse(null);
    } catch (KubernetesClientException e) {
      throw PlatterException.of(
          Code.UNAVAILABLE, "the API server does not answer: " + e.getMessage(), "", e);
    }
  }

  private final class Expected implements GuestArrivals.Guest {
    private final Pod pod;
    private final String from;
    private final Locks.Held lock;
    private @Nullable UUID vm;

    Expected(Pod pod, String from, Locks.Held lock) {
      this.pod = pod;
      this.from = from;
      this.lock = lock;
    }

    @Override
    public SecretData prepare(Plan plan) throws IOException {
      vm = plan.uuid();
      return vms.beginArrival(pod, plan, from);
    }

    @Override
    public void close() {
      try (lock) {
        if (vm != null) {
          vms.endArrival(PodVms.key(pod), vm);
        }
      }
    }
  }
}
