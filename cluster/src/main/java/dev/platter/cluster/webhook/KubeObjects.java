package dev.platter.cluster.webhook;

import dev.platter.cluster.api.VmIdentity;
import dev.platter.cluster.api.VmIdentitySet;
import io.fabric8.kubernetes.api.model.HasMetadata;
import io.fabric8.kubernetes.client.KubernetesClient;
import io.fabric8.kubernetes.client.utils.Serialization;
import java.util.List;
import java.util.Optional;

/** Asks the API server. */
public final class KubeObjects implements ClusterObjects {
  private final KubernetesClient client;

  public KubeObjects(KubernetesClient client) {
    this.client = client;
  }

  @Override
  public Optional<String> claim(String namespace, String name) {
    return json(client.persistentVolumeClaims().inNamespace(namespace).withName(name).get());
  }

  @Override
  public Optional<String> volume(String name) {
    return json(client.persistentVolumes().withName(name).get());
  }

  @Override
  public Optional<String> identity(String namespace, String name) {
    return json(client.resources(VmIdentity.class).inNamespace(namespace).withName(name).get());
  }

  @Override
  public Optional<String> identitySet(String namespace, String name) {
    return json(client.resources(VmIdentitySet.class).inNamespace(namespace).withName(name).get());
  }

  @Override
  public List<String> volumes() {
    return client.persistentVolumes().list().getItems().stream()
        .map(Serialization::asJson)
        .toList();
  }

  @Override
  public List<String> nodes() {
    return client.nodes().list().getItems().stream()
        .map(node -> node.getMetadata().getName())
        .toList();
  }

  // The client answers null for what is not there, whatever its types say.
  @SuppressWarnings("NullAway")
  private static Optional<String> json(HasMetadata object) {
    return Optional.ofNullable(object).map(Serialization::asJson);
  }
}
