package dev.platter.cluster.install;

import dev.platter.cluster.KubeConfig;
import dev.platter.cluster.api.DataVolume;
import dev.platter.cluster.api.Names;
import dev.platter.cluster.api.VirtualMachine;
import dev.platter.cluster.api.VirtualMachineGroup;
import dev.platter.cluster.api.VmIdentity;
import dev.platter.model.PlatterException;
import dev.platter.model.PlatterException.Code;
import io.fabric8.kubernetes.api.model.GenericKubernetesResource;
import io.fabric8.kubernetes.api.model.HasMetadata;
import io.fabric8.kubernetes.client.KubernetesClient;
import io.fabric8.kubernetes.client.KubernetesClientException;
import io.fabric8.kubernetes.client.dsl.base.ResourceDefinitionContext;
import java.net.HttpURLConnection;
import java.util.ArrayList;
import java.util.List;
import java.util.SortedSet;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/** Whether anything in the cluster still needs Platter, and what nodes will keep of it. */
public final class Uninstall {
  private static final int MOST = 20;
  private static final ResourceDefinitionContext SNAPSHOT_CONTENTS =
      new ResourceDefinitionContext.Builder()
          .withGroup("snapshot.storage.k8s.io")
          .withVersion("v1")
          .withKind("VolumeSnapshotContent")
          .withPlural("volumesnapshotcontents")
          .withNamespaced(false)
          .build();

  private Uninstall() {}

  /**
   * Asks the cluster of the kubeconfig.
   *
   * @param context null is the current one
   * @return the labels that nodes have of Platter
   * @throws PlatterException that lists what is still there
   */
  public static SortedSet<String> refuseIfInUse(@Nullable String context) {
    try (var client = KubeConfig.open(context)) {
      refuseIfInUse(client);
      return labels(client);
    } catch (KubernetesClientException e) {
      throw PlatterException.of(
          Code.UNAVAILABLE,
          "cannot ask the cluster whether it still has VMs, identities or volumes: " + cause(e),
          "Check that kubectl get vm,vmid -A works, and --context.",
          e);
    }
  }

  /** What the client itself says is often no more than that something went wrong. */
  private static String cause(Throwable e) {
    return e.getCause() == null ? String.valueOf(e.getMessage()) : cause(e.getCause());
  }

  static void refuseIfInUse(KubernetesClient client) {
    var left = left(client);
    if (!left.isEmpty()) {
      var shown = left.stream().limit(MOST).toList();
      var more = left.size() > MOST ? " (the first " + MOST + " are shown)" : "";
      throw PlatterException.all(
          Code.CONFLICT,
          "the cluster still has VMs, identities or volumes, or fills claims: "
              + left.size()
              + more,
          "Delete them, and the claims and snapshots of volumes, first; without Platter nobody could"
              + " end or use them, or remove their disks.",
          shown);
    }
  }

  /** What needs Platter, or the driver of volumes, which goes with its namespace. */
  static List<String> left(KubernetesClient client) {
    var left = new ArrayList<String>();
    left.addAll(named("vmgroup", objects(client, VirtualMachineGroup.class)));
    left.addAll(named("vm", objects(client, VirtualMachine.class)));
    left.addAll(named("vmid", objects(client, VmIdentity.class)));
    left.addAll(
        named(
            "pod",
            client.pods().inAnyNamespace().withLabel(Names.LAUNCHER, "true").list().getItems()));
    left.addAll(
        named("pod", client.pods().inAnyNamespace().withLabel(Names.FILLS).list().getItems()));
    // Their claims would go with the kind.
    if (ForeignCdi.hasOurDataVolumes(client)) {
      left.addAll(named("dv", objects(client, DataVolume.class)));
    }
    left.addAll(volumes(client));
    return left;
  }

  /** Also those that nobody claims any more: the driver alone can remove their bytes. */
  private static List<String> volumes(KubernetesClient client) {
    var left = new ArrayList<String>();
    for (var volume : client.persistentVolumes().list().getItems()) {
      var csi = volume.getSpec().getCsi();
      if (csi != null && csi.getDriver().equals(Names.VOLUME_DRIVER)) {
        var claim = volume.getSpec().getClaimRef();
        var of = claim == null ? "" : " of pvc " + claim.getNamespace() + "/" + claim.getName();
        left.add("pv " + volume.getMetadata().getName() + of);
      }
    }
    for (var content : objects(client, SNAPSHOT_CONTENTS)) {
      if (content.get("spec", "driver") instanceof String driver
          && driver.equals(Names.VOLUME_DRIVER)) {
        left.add("volumesnapshotcontent " + content.getMetadata().getName());
      }
    }
    return left;
  }

  /** Those that a daemon gives its node, and that no deletion of objects takes away. */
  static SortedSet<String> labels(KubernetesClient client) {
    var labels = new TreeSet<String>();
    for (var node : client.nodes().withLabel(Names.NODE).list().getItems()) {
      node.getMetadata().getLabels().keySet().stream()
          .filter(
              label ->
                  label.equals(Names.NODE)
                      || label.equals(Names.EXTRA_RUNTIME)
                      || label.startsWith(Names.USAGE_PREFIX))
          .forEach(labels::add);
    }
    return labels;
  }

  /** None if the cluster does not know the kind. */
  private static List<? extends HasMetadata> objects(
      KubernetesClient client, Class<? extends HasMetadata> kind) {
    return objects(client, ResourceDefinitionContext.fromResourceType(kind));
  }

  private static List<GenericKubernetesResource> objects(
      KubernetesClient client, ResourceDefinitionContext context) {
    try {
      return client.genericKubernetesResources(context).inAnyNamespace().list().getItems();
    } catch (KubernetesClientException e) {
      if (e.getCode() == HttpURLConnection.HTTP_NOT_FOUND) {
        return List.of();
      }
      throw e;
    }
  }

  private static List<String> named(String kind, List<? extends HasMetadata> objects) {
    return objects.stream()
        .map(
            object ->
                kind
                    + " "
                    + object.getMetadata().getNamespace()
                    + "/"
                    + object.getMetadata().getName())
        .toList();
  }
}
