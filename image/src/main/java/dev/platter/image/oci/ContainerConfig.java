package dev.platter.image.oci;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.platter.image.BadImageException;
import dev.platter.image.Digest;
import dev.platter.image.Printable;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;

/**
 * What the config of a container image says of the program to run.
 *
 * @param diffIds digest of each layer's tar before compression, lowest first
 * @param env {@code NAME=VALUE}
 */
public record ContainerConfig(
    List<Digest> diffIds,
    List<String> entrypoint,
    List<String> command,
    List<String> env,
    String user,
    String directory,
    String stopSignal) {
  /** As many layers as Docker makes. */
  private static final int MOST_LAYERS = 127;

  private static final String WHAT = "the image's config";

  public ContainerConfig {
    diffIds = List.copyOf(diffIds);
    entrypoint = List.copyOf(entrypoint);
    command = List.copyOf(command);
    env = List.copyOf(env);
  }

  /** Refuses what is not a container image for this kind of machine. */
  public static ContainerConfig read(BlobSource source, Manifest manifest) throws IOException {
    var descriptor = manifest.config();
    if (!MediaTypes.CONFIGS.contains(descriptor.mediaType())) {
      throw new BadImageException(
          "it is an artifact of the type " + Printable.of(descriptor.mediaType()));
    }
    byte[] bytes;
    try (var in = source.open(descriptor)) {
      bytes = VerifyingInputStream.readAll(in, descriptor, Json.MAX_BYTES);
    }
    var image = ImageConfig.parse(bytes);
    var layers = image.diffIds().size();
    if (layers != manifest.layers().size() || layers == 0 || layers > MOST_LAYERS) {
      throw new BadImageException(
          "it has %d layers, and its config names %d; an image has 1 to %d"
              .formatted(manifest.layers().size(), layers, MOST_LAYERS));
    }
    if (!image.os().equals("linux") || !image.architecture().equals("amd64")) {
      throw new BadImageException(
          "it is for " + Printable.of(image.os() + "/" + image.architecture()));
    }
    return of(image.diffIds(), Json.object(bytes, WHAT).path("config"));
  }

  private static ContainerConfig of(List<Digest> diffIds, JsonNode config)
      throws BadImageException {
    if (!(config instanceof ObjectNode)) {
      return new ContainerConfig(diffIds, List.of(), List.of(), List.of(), "", "", "");
    }
    return new ContainerConfig(
        diffIds,
        texts(config, "Entrypoint"),
        texts(config, "Cmd"),
        texts(config, "Env"),
        text(config, "User"),
        text(config, "WorkingDir"),
        text(config, "StopSignal"));
  }

  private static List<String> texts(JsonNode config, String field) throws BadImageException {
    var out = new ArrayList<String>();
    for (var item : config.path(field)) {
      if (!item.isTextual()) {
        throw new BadImageException(WHAT + " has a " + field + " that is no list of texts");
      }
      out.add(checked(item.textValue(), field));
    }
    return out;
  }

  private static String text(JsonNode config, String field) throws BadImageException {
    var text = config.path(field).textValue();
    return text == null ? "" : checked(text, field);
  }

  private static String checked(String text, String field) throws BadImageException {
    if (text.indexOf('\0') >= 0) {
      throw new BadImageException(WHAT + " has a NUL byte in " + field);
    }
    return text;
  }
}
