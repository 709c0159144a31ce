package dev.platter.cluster.api;

import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import io.fabric8.kubernetes.client.KubernetesClient;
import io.fabric8.kubernetes.client.dsl.base.PatchContext;
import io.fabric8.kubernetes.client.dsl.base.PatchType;
import java.util.List;
import java.util.Map;

/**
 * Changes of a migration. Each is refused by the API server if it is not about the latest version.
 */
public record MigrationChanges(KubernetesClient client) {
  private static final PatchContext MERGE = PatchContext.of(PatchType.JSON_MERGE);

  public void status(VirtualMachineMigration migration, VirtualMachineMigration.Status status) {
    var version = migration.getMetadata().getResourceVersion();
    client
        .resource(migration)
        .subresource("status")
        .patch(
            MERGE,
            client
                .getKubernetesSerialization()
                .asJson(Map.of("metadata", Map.of("resourceVersion", version), "status", status)));
  }

  public void finalizers(VirtualMachineMigration migration, List<String> finalizers) {
    client.resource(migration).patch(MERGE, Finalizers.patch(migration, finalizers));
  }

  /** It stays until it is over, and goes with its VM. */
  public void keep(VirtualMachineMigration migration, VirtualMachine vm) {
    var patch = JsonNodeFactory.instance.objectNode();
    var meta = patch.putObject("metadata");
    meta.put("resourceVersion", migration.getMetadata().getResourceVersion());
    meta.putArray("finalizers").add(Names.MIGRATION_FINALIZER);
    meta.putArray("ownerReferences")
        .addObject()
        .put("apiVersion", vm.getApiVersion())
        .put("kind", vm.getKind())
        .put("name", vm.getMetadata().getName())
        .put("uid", vm.getMetadata().getUid());
    client.resource(migration).patch(MERGE, patch.toString());
  }
}
