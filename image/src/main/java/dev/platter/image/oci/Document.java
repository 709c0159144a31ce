package dev.platter.image.oci;

import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.platter.image.BadImageException;
import dev.platter.image.Printable;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** What a tag or digest can name: one image, or a list of them. */
public sealed interface Document permits Manifest, Index {
  int MAX_BYTES = Json.MAX_BYTES;

  /**
   * Decides by content. OCI lets a document leave out its own media type, and a header can lie; but
   * a document that could be read both ways would be two images with one digest, so it is refused.
   */
  static Document parse(byte[] bytes) throws BadImageException {
    ObjectNode json = Json.object(bytes, "the manifest");
    boolean list = json.has("manifests");
    if (list && (json.has("layers") || json.has("config"))) {
      throw new BadImageException("the manifest could be read as an index and as an image");
    }
    if (json.path("schemaVersion").asInt() == 1) {
      throw new BadImageException(
          "the image has Docker's schema 1 manifest, which is obsolete; push it again with a"
              + " current tool");
    }
    return list ? Index.parse(json) : Manifest.parse(json);
  }

  static void requireMediaType(@Nullable String found, Set<String> known, String what)
      throws BadImageException {
    if (found != null && !known.contains(found)) {
      throw new BadImageException(what + " has the unknown type " + Printable.of(found));
    }
  }
}
