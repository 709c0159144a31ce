package dev.platter.cluster;

import dev.platter.cluster.api.Finalizers;
import dev.platter.cluster.api.IdentityChanges;
import dev.platter.cluster.api.IdentityStatus;
import dev.platter.cluster.api.Names;
import dev.platter.cluster.api.VmIdentity;
import dev.platter.model.PlatterException;
import dev.platter.model.PlatterException.Code;
import io.fabric8.kubernetes.api.model.Pod;
import io.fabric8.kubernetes.client.KubernetesClient;
import io.fabric8.kubernetes.client.KubernetesClientException;
import io.fabric8.kubernetes.client.dsl.Resource;
import java.net.HttpURLConnection;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** The identities of the cluster of a kubeconfig, for the people who have them. */
public final class ClusterIdentities implements AutoCloseable {
  private static final Set<String> ENDED = Set.of("Succeeded", "Failed");

  private final KubernetesClient client;
  private final IdentityChanges changes;

  public ClusterIdentities(KubernetesClient client) {
    this.client = client;
    this.changes = new IdentityChanges(client);
  }

  /**
   * An identity, and the pods that have it or wait for it.
   *
   * @param pets those of them that its own StatefulSet keeps
   */
  public record Found(VmIdentity identity, List<String> usedBy, List<String> pets) {
    public Found {
      usedBy = List.copyOf(usedBy);
      pets = List.copyOf(pets);
    }

    public IdentityStatus status() {
      return IdentityStatus.of(identity);
    }
  }

  /** That of the kubeconfig's context. */
  public String namespace() {
    return Optional.ofNullable(client.getNamespace()).orElse("default");
  }

  /**
   * @param namespace null for all
   */
  public List<Found> list(@Nullable String namespace) {
    return asked(
        () -> {
          var kind = client.resources(VmIdentity.class);
          var all =
              (namespace == null ? kind.inAnyNamespace() : kind.inNamespace(namespace))
                  .list()
                  .getItems();
          var pods = pods(namespace);
          return all.stream()
              .map(identity -> found(identity, pods))
              .sorted(
                  Comparator.comparing((Found it) -> it.identity().getMetadata().getNamespace())
                      .thenComparing(it -> it.identity().getMetadata().getName()))
              .toList();
        });
  }

  public Optional<Found> find(String namespace, String name) {
    return asked(
        () ->
            Optional.ofNullable(at(namespace, name).get())
                .map(identity -> found(identity, pods(namespace))));
  }

  private Found existing(String namespace, String name) {
    return find(namespace, name).orElseThrow(() -> missing(namespace, name));
  }

  public static PlatterException missing(String namespace, String name) {
    return PlatterException.of(
        Code.NOT_FOUND,
        "there is no identity " + namespace + "/" + name,
        "'kubectl platter identity ls -A' lists them.");
  }

  /** Asks for its disk to be on that node; the nodes do the rest. */
  public void move(String namespace, String name, String node) {
    var found = existing(namespace, name);
    if (!found.identity().local()) {
      throw PlatterException.of(
          Code.UNSUPPORTED,
          "the disk of the identity " + name + " is on a volume, which no node has",
          "Its pod can run wherever the volume can be.");
    }
    refuseIfUsed(found, found.usedBy());
    refuseOtherNodes(node);
    changed(() -> changes.place(found.identity(), node));
  }

  /** Asks for it and its disk to go; the pod of a pet goes first. */
  public void remove(String namespace, String name) {
    var found = existing(namespace, name);
    var others = new ArrayList<>(found.usedBy());
    others.removeAll(found.pets());
    refuseIfUsed(found, others);
    var identity = found.identity();
    if (!identity.waitsForDisk() && !identity.ends()) {
      // So that who waits for it to go waits for its disk as well.
      changed(() -> changes.finalizers(identity, Finalizers.with(identity, Names.DISK_FINALIZER)));
    }
    asked(() -> at(namespace, name).delete());
  }

  private static void refuseIfUsed(Found found, List<String> pods) {
    if (!pods.isEmpty()) {
      throw PlatterException.of(
          Code.CONFLICT,
          "the identity %s is in use by the pod %s"
              .formatted(found.identity().getMetadata().getName(), pods.getFirst()),
          found.pets().containsAll(pods)
              ? "Its set keeps that pod running; set autoStart to false there first."
              : "Delete the pod first, or scale down what keeps it.");
    }
  }

  /** Who may not look at nodes is told by the identity itself. */
  private void refuseOtherNodes(String name) {
    try {
      var node = client.nodes().withName(name).get();
      if (node == null || !"true".equals(labels(node.getMetadata().getLabels()).get(Names.NODE))) {
        throw PlatterException.of(
            Code.NOT_FOUND,
            "there is no node " + name + " that runs VMs",
            "'kubectl get nodes -l " + Names.NODE + "' lists them.");
      }
    } catch (KubernetesClientException e) {
      if (e.getCode() != HttpURLConnection.HTTP_FORBIDDEN) {
        throw refused(e);
      }
    }
  }

  private Resource<VmIdentity> at(String namespace, String name) {
    return client.resources(VmIdentity.class).inNamespace(namespace).withName(name);
  }

  private List<Pod> pods(@Nullable String namespace) {
    var all = client.pods();
    return (namespace == null ? all.inAnyNamespace() : all.inNamespace(namespace))
        .withLabel(Names.IDENTITY)
        .list()
        .getItems();
  }

  private static Found found(VmIdentity identity, List<Pod> pods) {
    var meta = identity.getMetadata();
    var users = new ArrayList<String>();
    var pets = new ArrayList<String>();
    for (var pod : pods) {
      var labels = labels(pod.getMetadata().getLabels());
      if (pod.getMetadata().getNamespace().equals(meta.getNamespace())
          && meta.getName().equals(labels.get(Names.IDENTITY))
          && !ENDED.contains(String.valueOf(pod.getStatus().getPhase()))) {
        users.add(pod.getMetadata().getName());
        if (meta.getName().equals(labels.get(Names.PET))) {
          pets.add(pod.getMetadata().getName());
        }
      }
    }
    return new Found(identity, users, pets);
  }

  private static Map<String, String> labels(@Nullable Map<String, String> labels) {
    return labels == null ? Map.of() : labels;
  }

  private static <T> T asked(Supplier<T> question) {
    try {
      return question.get();
    } catch (KubernetesClientException e) {
      throw refused(e);
    }
  }

  private static void changed(Runnable change) {
    try {
      change.run();
    } catch (KubernetesClientException e) {
      throw refused(e);
    }
  }

  private static PlatterException refused(KubernetesClientException e) {
    var said = e.getStatus() == null ? cause(e) : e.getStatus().getMessage();
    return switch (e.getCode()) {
      case HttpURLConnection.HTTP_NOT_FOUND ->
          PlatterException.of(
              Code.UNAVAILABLE,
              "the cluster does not know identities: " + said,
              "'platter install' prints what has to be applied.",
              e);
      case HttpURLConnection.HTTP_FORBIDDEN ->
          PlatterException.of(
              Code.REFUSED, "the cluster does not allow it: " + said, "Ask its administrator.", e);
      case HttpURLConnection.HTTP_CONFLICT ->
          PlatterException.of(
              Code.CONFLICT, "somebody changed it at the same time: " + said, "Try again.", e);
      default ->
          PlatterException.of(
              Code.UNAVAILABLE,
              "the cluster does not answer: " + said,
              "Check that kubectl get vmid works, and --context.",
              e);
    };
  }

  /** What the client itself says is often no more than that something went wrong. */
  private static String cause(Throwable e) {
    return e.getCause() == null ? String.valueOf(e.getMessage()) : cause(e.getCause());
  }

  @Override
  public void close() {
    client.close();
  }
}
