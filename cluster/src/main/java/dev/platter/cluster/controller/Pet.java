package dev.platter.cluster.controller;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.platter.cluster.api.Names;
import dev.platter.cluster.api.VmIdentity;
import dev.platter.cluster.api.VmIdentitySet;
import io.fabric8.kubernetes.api.model.HasMetadata;
import io.fabric8.kubernetes.api.model.apps.StatefulSet;
import java.util.Objects;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * The StatefulSet that runs the VM of an identity, as it is to be. It is JSON throughout: what the
 * user wrote as a template reaches the API server as it is, which alone knows what is valid.
 */
final class Pet {
  /**
   * Names of revisions, which are labels, are made from that of a StatefulSet; that of its pod is a
   * host name.
   */
  private static final Pattern NAME = Pattern.compile("[a-z0-9]([-a-z0-9]{0,50}[a-z0-9])?");

  static final String NAME_RULE =
      "The set starts its identities, but the name of one that has a pod consists of a-z, 0-9 and -,"
          + " and has 52 characters at most.";

  private Pet() {}

  static boolean canBeCalled(String name) {
    return NAME.matcher(name).matches();
  }

  /** Whether this object is that identity's, and not one of an identity that had its name. */
  static boolean isOf(HasMetadata object, VmIdentity identity) {
    return object.getMetadata().getOwnerReferences().stream()
        .anyMatch(
            owner ->
                Boolean.TRUE.equals(owner.getController())
                    && Objects.equals(owner.getUid(), identity.getMetadata().getUid()));
  }

  static ObjectNode of(VmIdentity identity, VmIdentitySet set) {
    var name = identity.getMetadata().getName();
    var out = JsonNodeFactory.instance.objectNode();
    out.put("apiVersion", "apps/v1").put("kind", "StatefulSet");
    var metadata = out.putObject("metadata");
    metadata.put("name", name).put("namespace", identity.getMetadata().getNamespace());
    metadata.putObject("labels").put(Names.PET, name);
    // The controller itself deletes it before the identity goes: nothing has to block that.
    metadata
        .putArray("ownerReferences")
        .addObject()
        .put("apiVersion", identity.getApiVersion())
        .put("kind", identity.getKind())
        .put("name", name)
        .put("uid", identity.getMetadata().getUid())
        .put("controller", true)
        .put("blockOwnerDeletion", false);
    var spec = out.putObject("spec");
    spec.put("replicas", 1).put("serviceName", name);
    // Else a pod that never got ready would not be replaced after its template was mended.
    spec.put("podManagementPolicy", "Parallel");
    spec.putObject("selector").putObject("matchLabels").put(Names.PET, name);
    spec.set("template", template(identity, set));
    return out;
  }

  /** If it is there, that one and no other that got its name. */
  static ObjectNode exactly(ObjectNode desired, @Nullable StatefulSet there) {
    var out = desired.deepCopy();
    if (there != null) {
      out.withObjectProperty("metadata").put("uid", there.getMetadata().getUid());
    }
    return out;
  }

  /** A pod as the StatefulSet would make it, for the API server to judge. */
  static ObjectNode pod(ObjectNode pet) {
    var template = (ObjectNode) pet.path("spec").path("template").deepCopy();
    var metadata = pet.path("metadata");
    template.put("apiVersion", "v1").put("kind", "Pod");
    template
        .withObjectProperty("metadata")
        .put("name", metadata.path("name").asText() + "-0")
        .put("namespace", metadata.path("namespace").asText());
    return template;
  }

  private static JsonNode template(VmIdentity identity, VmIdentitySet set) {
    var out = (ObjectNode) set.template().deepCopy();
    var metadata = out.withObjectProperty("metadata");
    metadata.withObjectProperty("labels").put(Names.PET, identity.getMetadata().getName());
    metadata
        .withObjectProperty("annotations")
        .put(Names.TARGET_RUNTIME, Names.OUR_RUNTIME)
        .put(Names.IDENTITY_SET, set.getMetadata().getName())
        .put(Names.IDENTITY_NAME, identity.getMetadata().getName());
    var image = VmIdentitySet.withoutRuntime(identity.getSpec().path("image").asText());
    for (var container : out.path("spec").path("containers")) {
      if (container instanceof ObjectNode fields && !fields.hasNonNull("image")) {
        fields.put("image", Names.OUR_RUNTIME + "/" + image);
      }
    }
    return out;
  }
}
