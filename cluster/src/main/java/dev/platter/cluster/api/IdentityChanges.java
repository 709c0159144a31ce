package dev.platter.cluster.api;

import io.fabric8.kubernetes.client.KubernetesClient;
import java.util.List;
import java.util.Map;

/**
 * Changes of an identity. Each is refused by the API server if it is not about the latest version.
 */
public final class IdentityChanges {
  private final KubernetesClient client;
  private final IdentityRequests requests;

  public IdentityChanges(KubernetesClient client) {
    this.client = client;
    this.requests = new IdentityRequests(client);
  }

  public void status(VmIdentity identity, IdentityStatus status) {
    requests.patch(identity, "/status", patch(identity, "status", status));
  }

  public void finalizers(VmIdentity identity, List<String> finalizers) {
    requests.patch(identity, "", Finalizers.patch(identity, finalizers));
  }

  /** Where its disk should be. */
  public void place(VmIdentity identity, String node) {
    requests.patch(identity, "", patch(identity, "spec", Map.of("nodeName", node)));
  }

  private String patch(VmIdentity identity, String part, Object content) {
    var version = identity.getMetadata().getResourceVersion();
    return client
        .getKubernetesSerialization()
        .asJson(Map.of("metadata", Map.of("resourceVersion", version), part, content));
  }
}
