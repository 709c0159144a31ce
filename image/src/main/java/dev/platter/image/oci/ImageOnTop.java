package dev.platter.image.oci;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.platter.image.BadImageException;
import dev.platter.image.Digest;
import java.io.IOException;
import java.io.InputStream;
import java.util.List;

/**
 * The documents of an image that has some layers more than another, before they are stored
 * anywhere; all else is as it is there. The same layers on the same image give the same bytes.
 */
public final class ImageOnTop {
  private static final String CONFIG = "the config of the image below";

  private final Manifest below;
  private final List<Layer> added;
  private final byte[] config;
  private final byte[] manifest;

  private ImageOnTop(Manifest below, List<Layer> added, ObjectNode config) {
    this.below = below;
    this.added = List.copyOf(added);
    this.config = NewImage.bytes(config);
    this.manifest = NewImage.bytes(manifestOf(this.config));
  }

  /**
   * @param source where the image below is
   * @param by what made the layers, for the history
   */
  public static ImageOnTop of(BlobSource source, Manifest below, List<Layer> added, String by)
      throws IOException {
    Descriptor descriptor = below.config();
    if (!MediaTypes.CONFIGS.contains(descriptor.mediaType())) {
      throw new BadImageException("nothing can be added to what is not a container image");
    }
    ObjectNode config;
    try (InputStream in = source.open(descriptor)) {
      config = Json.object(VerifyingInputStream.readAll(in, descriptor, Json.MAX_BYTES), CONFIG);
    }
    ObjectNode files = Json.requireObject(config, "rootfs", CONFIG);
    if (Json.requireArray(files, "diff_ids", CONFIG).size() != below.layers().size()) {
      throw new BadImageException(CONFIG + " does not know its layers");
    }
    ArrayNode ids = files.withArray("diff_ids");
    ArrayNode history = config.withArray("history");
    for (Layer layer : added) {
      ids.add(layer.diffId().toString());
      history.addObject().put("created", NewImage.CREATED).put("created_by", by);
    }
    return new ImageOnTop(below, added, config);
  }

  private ObjectNode manifestOf(byte[] configBytes) {
    ObjectNode json =
        Json.MAPPER
            .createObjectNode()
            .put("schemaVersion", 2)
            .put("mediaType", MediaTypes.OCI_MANIFEST);
    json.set(
        "config",
        new Descriptor(MediaTypes.OCI_CONFIG, Digest.of(configBytes), configBytes.length).toJson());
    ArrayNode layers = json.putArray("layers");
    below.layers().forEach(layer -> layers.add(asOci(layer).toJson()));
    added.forEach(layer -> layers.add(layer.descriptor().toJson()));
    return json;
  }

  /** The same bytes by the name that they have in OCI's manifests. */
  private static Descriptor asOci(Descriptor layer) {
    return layer.mediaType().equals(MediaTypes.DOCKER_LAYER_GZIP)
        ? new Descriptor(
            MediaTypes.OCI_LAYER_GZIP, layer.digest(), layer.size(), layer.annotations(), null)
        : layer;
  }

  /** What the image has in common with the one below. */
  public List<Descriptor> layersBelow() {
    return below.layers();
  }

  public byte[] config() {
    return config.clone();
  }

  public Descriptor configDescriptor() {
    return new Descriptor(MediaTypes.OCI_CONFIG, Digest.of(config), config.length);
  }

  public byte[] manifest() {
    return manifest.clone();
  }

  public Descriptor manifestDescriptor() {
    return new Descriptor(MediaTypes.OCI_MANIFEST, Digest.of(manifest), manifest.length);
  }
}
