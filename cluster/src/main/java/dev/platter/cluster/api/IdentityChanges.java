package dev.platter.cluster.api;

import io.fabric8.kubernetes.client.KubernetesClient;
import io.fabric8.kubernetes.client.dsl.base.PatchContext;
import io.fabric8.kubernetes.client.dsl.base.PatchType;
import java.util.List;
import java.util.Map;

/**
 * Changes of an identity. Each is refused by the API server if it is not about the latest version.
 */
public record IdentityChanges(KubernetesClient client) {
  private static final PatchContext MERGE = PatchContext.of(PatchType.JSON_MERGE);

  public void status(VmIdentity identity, IdentityStatus status) {
    client.resource(identity).subresource("status").patch(MERGE, patch(identity, "status", status));
  }

  public void finalizers(VmIdentity identity, List<String> finalizers) {
    client.resource(identity).patch(MERGE, Finalizers.patch(identity, finalizers));
  }

  /** Where its disk should be. */
  public void place(VmIdentity identity, String node) {
    client.resource(identity).patch(MERGE, patch(identity, "spec", Map.of("nodeName", node)));
  }

  private String patch(VmIdentity identity, String part, Object content) {
    var version = identity.getMetadata().getResourceVersion();
    return client
        .getKubernetesSerialization()
        .asJson(Map.of("metadata", Map.of("resourceVersion", version), part, content));
  }
}
