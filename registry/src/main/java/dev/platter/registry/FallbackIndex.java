package dev.platter.registry;

import com.fasterxml.jackson.databind.json.JsonMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.platter.image.BadImageException;
import dev.platter.image.oci.Descriptor;
import dev.platter.image.oci.MediaTypes;
import java.io.IOException;
import org.jspecify.annotations.Nullable;

/**
 * The list of referrers that we keep ourselves where the registry keeps none: an index under a tag
 * made of the subject's digest.
 *
 * <p>Two publishers at once can overwrite each other's entry. We look again after writing, and
 * write again if ours is gone; the other one, if it is not so careful, may still lose its own.
 */
final class FallbackIndex {
  private static final int ATTEMPTS = 4;
  private static final JsonMapper MAPPER = new JsonMapper();

  private final RegistryPush push;
  private final Referrers referrers;

  FallbackIndex(RegistryPush push, Referrers referrers) {
    this.push = push;
    this.referrers = referrers;
  }

  void add(Artifact artifact, Descriptor manifest) throws IOException {
    for (int attempt = 0; attempt <= ATTEMPTS; attempt++) {
      byte @Nullable [] found = referrers.fallbackIndex(artifact.subject().digest());
      if (found != null
          && Referrers.parse(found).stream()
              .anyMatch(one -> one.manifest().digest().equals(manifest.digest()))) {
        return;
      }
      // The tree, not our records: what others wrote into it stays.
      ObjectNode index = found == null ? empty() : tree(found);
      ((ArrayNode) index.path("manifests")).add(artifact.entry(manifest));
      push.manifest(MAPPER.writeValueAsBytes(index), Referrers.tag(artifact.subject().digest()));
    }
    throw new RegistryException(
        RegistryException.Kind.UNAVAILABLE,
        "others keep changing the list of referrers of "
            + artifact.subject().digest()
            + "; try again");
  }

  private static ObjectNode tree(byte[] found) throws IOException {
    if (MAPPER.readTree(found) instanceof ObjectNode object) {
      return object;
    }
    throw new BadImageException("the list of referrers is not an object");
  }

  private static ObjectNode empty() {
    ObjectNode index = MAPPER.createObjectNode().put("schemaVersion", 2);
    index.put("mediaType", MediaTypes.OCI_INDEX);
    index.putArray("manifests");
    return index;
  }
}
