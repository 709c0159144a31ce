package dev.platter.image.oci;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.platter.image.BadImageException;
import dev.platter.image.Digest;
import java.io.IOException;
import java.io.InputStream;
import java.util.ArrayList;
import java.util.List;

/**
 * The part of an image's configuration that we use.
 *
 * @param diffIds digest of each layer's tar before compression, lowest first
 */
public record ImageConfig(String os, String architecture, String variant, List<Digest> diffIds) {

  public ImageConfig {
    diffIds = List.copyOf(diffIds);
  }

  /**
   * The diff_ids that the config of an image names; empty for an artifact, which has no config that
   * could.
   */
  public static List<Digest> diffIds(BlobSource source, Manifest manifest) throws IOException {
    Descriptor config = manifest.config();
    if (!MediaTypes.CONFIGS.contains(config.mediaType())) {
      return List.of();
    }
    List<Digest> diffIds;
    try (InputStream in = source.open(config)) {
      diffIds = parse(VerifyingInputStream.readAll(in, config, Json.MAX_BYTES)).diffIds();
    }
    if (diffIds.size() != manifest.layers().size()) {
      throw new BadImageException(
          "the image has "
              + manifest.layers().size()
              + " layers but its config names "
              + diffIds.size());
    }
    return diffIds;
  }

  static ImageConfig parse(byte[] bytes) throws BadImageException {
    String what = "the image's config";
    ObjectNode json = Json.object(bytes, what);
    List<Digest> diffIds = new ArrayList<>();
    for (JsonNode id :
        Json.requireArray(Json.requireObject(json, "rootfs", what), "diff_ids", what)) {
      diffIds.add(Digest.parse(id.asText()));
    }
    return new ImageConfig(
        orEmpty(json, "os", what),
        orEmpty(json, "architecture", what),
        orEmpty(json, "variant", what),
        diffIds);
  }

  Platform platform() {
    return new Platform(os, architecture, variant);
  }

  private static String orEmpty(JsonNode json, String field, String what) throws BadImageException {
    String text = Json.text(json, field, what);
    return text == null ? "" : text;
  }
}
