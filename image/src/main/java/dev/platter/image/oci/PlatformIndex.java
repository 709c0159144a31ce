package dev.platter.image.oci;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.platter.image.Digest;
import java.io.IOException;
import org.jspecify.annotations.Nullable;

/**
 * Adds an image to what a tag names, so that one tag serves several platforms, as {@code docker
 * buildx imagetools create --append} does: an index gets the image in place of the one for the same
 * platform, a single image becomes an index of two.
 *
 * <p>Works on the tree, not on our records: what others wrote into an index stays. Only notes about
 * the image that is replaced (attestations) go with it.
 */
public final class PlatformIndex {
  private static final String ABOUT = "vnd.docker.reference.digest";

  private PlatformIndex() {}

  /**
   * @param current the document that the tag names now, null if there is none
   * @param blobs fetches the config of an image, which alone knows its platform
   */
  public static byte[] append(byte @Nullable [] current, NewImage image, Resolved.Fetch blobs)
      throws IOException {
    ObjectNode index = Json.MAPPER.createObjectNode().put("schemaVersion", 2);
    ArrayNode kept = Json.MAPPER.createArrayNode();
    if (current != null) {
      switch (Document.parse(current)) {
        case Index _ -> {
          index = Json.object(current, "the index");
          kept = without(image.indexEntry(), index);
        }
        case Manifest manifest -> {
          var alone = new Descriptor(manifest.mediaType(), Digest.of(current), current.length);
          Descriptor entry = alone.forPlatform(platform(manifest, blobs));
          if (!replaces(image.indexEntry(), entry)) {
            kept.add(entry.toJson());
          }
        }
      }
    }
    // Docker's own type would not do for a list that has OCI manifests.
    index.put("mediaType", MediaTypes.OCI_INDEX);
    index.set("manifests", kept.add(image.indexEntry().toJson()));
    return NewImage.bytes(index);
  }

  private static ArrayNode without(Descriptor image, ObjectNode index) throws IOException {
    String what = "the index";
    ArrayNode kept = Json.MAPPER.createArrayNode();
    ArrayNode replaced = Json.MAPPER.createArrayNode();
    for (JsonNode entry : Json.requireArray(index, "manifests", what)) {
      boolean goes = replaces(image, Descriptor.parse(entry, what));
      (goes ? replaced : kept).add(entry);
    }
    for (JsonNode gone : replaced) {
      String digest = gone.path("digest").asText();
      kept.removeIf(note -> note.path("annotations").path(ABOUT).asText().equals(digest));
    }
    return kept;
  }

  private static boolean replaces(Descriptor image, Descriptor entry) {
    return image.digest().equals(entry.digest())
        || (image.platform() != null
            && entry.platform() != null
            && image.platform().isSameAs(entry.platform()));
  }

  /** Null for an artifact and for an image that does not say: such an entry serves all. */
  private static @Nullable Platform platform(Manifest manifest, Resolved.Fetch blobs)
      throws IOException {
    if (!MediaTypes.CONFIGS.contains(manifest.config().mediaType())) {
      return null;
    }
    ImageConfig config = ImageConfig.parse(blobs.bytes(manifest.config()));
    return config.os().isEmpty() || config.architecture().isEmpty() ? null : config.platform();
  }
}
