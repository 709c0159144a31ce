package dev.platter.image.oci;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.platter.image.BadImageException;
import dev.platter.image.Digest;
import java.util.Map;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * Names some bytes: what they are, their digest, how many. Foreign {@code urls} are ignored: bytes
 * come from where the image came from, or not at all.
 */
public record Descriptor(
    String mediaType,
    Digest digest,
    long size,
    Map<String, String> annotations,
    @Nullable Platform platform) {

  public static final String TITLE = "org.opencontainers.image.title";
  static final String REF_NAME = "org.opencontainers.image.ref.name";

  public Descriptor {
    if (size < 0) {
      throw new IllegalArgumentException("negative size");
    }
    annotations = Map.copyOf(annotations);
  }

  public Descriptor(String mediaType, Digest digest, long size) {
    this(mediaType, digest, size, Map.of(), null);
  }

  /** The same bytes as the entry of an index. */
  Descriptor forPlatform(@Nullable Platform other) {
    return new Descriptor(mediaType, digest, size, annotations, other);
  }

  static Descriptor parse(JsonNode node, String what) throws BadImageException {
    if (!node.isObject()) {
      throw new BadImageException(what + " is not a JSON object");
    }
    JsonNode platform = node.get("platform");
    return new Descriptor(
        Json.requireText(node, "mediaType", what),
        Digest.parse(Json.requireText(node, "digest", what)),
        Json.requireSize(node, "size", what),
        Json.strings(node, "annotations", what),
        platform == null || platform.isNull()
            ? null
            : Platform.parse(platform, what + ": platform"));
  }

  ObjectNode toJson() {
    ObjectNode node = Json.MAPPER.createObjectNode();
    node.put("mediaType", mediaType).put("digest", digest.toString()).put("size", size);
    if (!annotations.isEmpty()) {
      // In order of their names: a manifest is known by the digest of its bytes.
      ObjectNode map = node.putObject("annotations");
      new TreeMap<>(annotations).forEach(map::put);
    }
    if (platform != null) {
      node.set("platform", platform.toJson());
    }
    return node;
  }
}
