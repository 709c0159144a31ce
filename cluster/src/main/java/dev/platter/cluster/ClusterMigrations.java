package dev.platter.cluster;

import dev.platter.cluster.api.Names;
import dev.platter.cluster.api.VirtualMachine;
import dev.platter.cluster.api.VirtualMachineMigration;
import dev.platter.cluster.api.VirtualMachineMigration.Spec;
import dev.platter.model.PlatterException;
import dev.platter.model.PlatterException.Code;
import io.fabric8.kubernetes.api.model.ObjectMetaBuilder;
import io.fabric8.kubernetes.client.KubernetesClient;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/** The moves of running VMs in the cluster of a kubeconfig, for the people who ask for them. */
public final class ClusterMigrations {
  private static final ApiServer SERVER =
      new ApiServer(
          "Check that 'kubectl auth can-i create virtualmachinemigrations' says yes, and that Platter"
              + " is installed.");

  private final KubernetesClient client;

  public ClusterMigrations(KubernetesClient client) {
    this.client = client;
  }

  /**
   * Asks for it; the cluster does the rest.
   *
   * @param node null for any other
   * @param perGib how long each GiB of what is sent may take; null for the usual time
   */
  public VirtualMachineMigration begin(
      String namespace, String vm, @Nullable String node, @Nullable Duration perGib) {
    return SERVER.asked(
        () -> {
          if (client.resources(VirtualMachine.class).inNamespace(namespace).withName(vm).get()
              == null) {
            throw noVm(namespace, vm);
          }
          if (node != null && client.nodes().withName(node).get() == null) {
            throw missing("node " + node, "'kubectl get nodes' lists them.");
          }
          var out = new VirtualMachineMigration();
          out.setMetadata(
              new ObjectMetaBuilder().withGenerateName(vm + "-").withNamespace(namespace).build());
          out.setSpec(
              new Spec(vm, node, perGib == null ? null : Math.toIntExact(perGib.toSeconds())));
          return client.resource(out).create();
        });
  }

  private PlatterException noVm(String namespace, String name) {
    var pod = client.pods().inNamespace(namespace).withName(name).get();
    var annotations = pod == null ? null : pod.getMetadata().getAnnotations();
    return annotations != null
            && annotations.containsKey(Names.WRITTEN)
            && !annotations.containsKey(Names.VM)
        ? PlatterException.of(
            Code.UNSUPPORTED,
            "%s/%s is an annotated pod, or the VM of an identity, and does not move while it runs"
                .formatted(namespace, name),
            "Delete the pod, and its controller starts the VM anew.")
        : missing("VM " + namespace + "/" + name, "'kubectl get vm -A' lists them.");
  }

  /** As it is now. */
  public VirtualMachineMigration now(VirtualMachineMigration migration) {
    var found = SERVER.asked(() -> client.resource(migration).get());
    if (found == null) {
      throw PlatterException.of(
          Code.CONFLICT,
          "the migration %s is gone; somebody deleted it"
              .formatted(migration.getMetadata().getName()),
          "'kubectl get vm %s -o wide' says where the VM is.".formatted(migration.getSpec().vm()));
    }
    return found;
  }

  private static PlatterException missing(String what, String next) {
    return PlatterException.of(Code.NOT_FOUND, "there is no " + what, next);
  }
}
