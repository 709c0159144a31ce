package dev.platter.cluster.controller;

import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.platter.cluster.api.Condition;
import dev.platter.cluster.api.Reason;
import dev.platter.cluster.api.VmIdentity;
import io.fabric8.kubernetes.api.model.GenericKubernetesResource;
import io.fabric8.kubernetes.api.model.HasMetadata;
import io.fabric8.kubernetes.api.model.apps.StatefulSet;
import io.fabric8.kubernetes.client.KubernetesClient;
import io.fabric8.kubernetes.client.dsl.RollableScalableResource;
import io.fabric8.kubernetes.client.dsl.base.PatchContext;
import io.fabric8.kubernetes.client.dsl.base.PatchType;
import io.fabric8.kubernetes.client.utils.Serialization;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** What pets are in the real cluster. */
final class FabricPets implements PetReconciler.Changes {
  /** Not the one of others of the controller: what one applies is all that it has to say. */
  private static final String FIELD_MANAGER = FabricCluster.FIELD_MANAGER + "-pets";

  private final KubernetesClient client;
  private final Events events;

  FabricPets(KubernetesClient client, Events events) {
    this.client = client;
    this.events = events;
  }

  private RollableScalableResource<StatefulSet> at(String namespace, String name) {
    return client.apps().statefulSets().inNamespace(namespace).withName(name);
  }

  private static PatchContext.Builder apply() {
    return new PatchContext.Builder()
        .withPatchType(PatchType.SERVER_SIDE_APPLY)
        .withFieldManager(FIELD_MANAGER);
  }

  @Override
  public @Nullable StatefulSet statefulSet(String namespace, String name) {
    return at(namespace, name).get();
  }

  @Override
  public void tryPod(ObjectNode pod) {
    var namespace = pod.path("metadata").path("namespace").asText();
    var _ =
        client.raw(
            "/api/v1/namespaces/" + namespace + "/pods?dryRun=All&fieldValidation=Strict",
            "POST",
            pod);
  }

  @Override
  public long apply(ObjectNode pet, boolean force) {
    var context = apply().withForce(force).withFieldValidation("Strict").build();
    // As an object and not as text: else the client would look for it first, and not make it.
    var object = Serialization.unmarshal(pet.toString(), GenericKubernetesResource.class);
    return client.resource(object).patch(context).getMetadata().getGeneration();
  }

  @Override
  public void delete(StatefulSet pet) {
    var meta = pet.getMetadata();
    at(meta.getNamespace(), meta.getName()).lockResourceVersion(meta.getResourceVersion()).delete();
  }

  @Override
  public void conditions(VmIdentity identity, List<Condition> conditions) {
    var meta = identity.getMetadata();
    var applied =
        Map.of(
            "apiVersion",
            identity.getApiVersion(),
            "kind",
            identity.getKind(),
            // With the UID, so that a new object of the name never gets the status of an old one.
            "metadata",
            Map.of("name", meta.getName(), "uid", meta.getUid()),
            "status",
            Map.of("conditions", conditions));
    client
        .resource(identity)
        .subresource("status")
        .patch(
            apply().withForce(true).build(), client.getKubernetesSerialization().asJson(applied));
  }

  @Override
  public void event(HasMetadata about, Reason reason, String message) {
    events.tell(about, reason, message);
  }
}
