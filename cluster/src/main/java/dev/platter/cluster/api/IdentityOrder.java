package dev.platter.cluster.api;

import com.fasterxml.jackson.databind.JsonNode;
import io.fabric8.kubernetes.api.model.Pod;
import io.fabric8.kubernetes.client.utils.Serialization;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * What a launcher pod wants of a set of identities. The controller makes the pod's identity by it,
 * and the pod's node says what is missing.
 *
 * @param image as its user wrote it
 */
public record IdentityOrder(String set, String image) {
  /** Why no identity is made. */
  public record Refusal(Reason reason, String message) {}

  public static IdentityOrder of(Pod pod) {
    var annotations =
        Objects.requireNonNullElse(pod.getMetadata().getAnnotations(), Map.<String, String>of());
    var written = annotations.getOrDefault(Names.WRITTEN, "{}");
    var image =
        Serialization.unmarshal(written, JsonNode.class)
            .path("containers")
            .path(0)
            .path("image")
            .asText();
    return new IdentityOrder(annotations.getOrDefault(Names.IDENTITY_SET, ""), image);
  }

  /**
   * @param found the set, if there is one
   * @return empty if an identity can be made
   */
  public Optional<Refusal> refusal(@Nullable VmIdentitySet found) {
    if (found == null) {
      return Optional.of(
          new Refusal(
              Reason.NOT_FOUND,
              "There is no VirtletVMIdentitySet " + set + ". Make it, and the VM starts."));
    }
    if (!VmIdentitySet.withoutRuntime(image).equals(found.image())) {
      return Optional.of(
          new Refusal(
              Reason.INVALID,
              "The pod's image is not that of the VirtletVMIdentitySet "
                  + set
                  + ", which is "
                  + found.image()
                  + ". Make the pod anew with that image."));
    }
    return Optional.empty();
  }
}
