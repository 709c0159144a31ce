package dev.platter.image.oci;

import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.platter.image.Digest;
import java.nio.charset.StandardCharsets;

/**
 * The documents of an image with one layer, before they are stored anywhere. The same layer and
 * platform give the same bytes: no time of creation, no name of a machine.
 */
public final class NewImage {
  /** When everything was made, as far as digests are concerned. */
  static final String CREATED = "1970-01-01T00:00:00Z";

  private final Platform platform;
  private final Layer layer;
  private final byte[] config;
  private final byte[] manifest;

  public NewImage(Platform platform, Layer layer) {
    this.platform = platform;
    this.layer = layer;
    this.config = bytes(config(platform, layer.diffId()));
    this.manifest = bytes(manifest(configDescriptor(), layer.descriptor()));
  }

  public Layer layer() {
    return layer;
  }

  public byte[] config() {
    return config.clone();
  }

  public byte[] manifest() {
    return manifest.clone();
  }

  public Descriptor configDescriptor() {
    return new Descriptor(MediaTypes.OCI_CONFIG, Digest.of(config), config.length);
  }

  public Descriptor manifestDescriptor() {
    return new Descriptor(MediaTypes.OCI_MANIFEST, Digest.of(manifest), manifest.length);
  }

  /** As an index of images for several platforms names it. */
  public Descriptor indexEntry() {
    return manifestDescriptor().forPlatform(platform);
  }

  private static ObjectNode config(Platform platform, Digest diffId) {
    ObjectNode config = Json.MAPPER.createObjectNode();
    config.put("created", CREATED);
    config.setAll(platform.toJson());
    config.putObject("config");
    config.putObject("rootfs").put("type", "layers").putArray("diff_ids").add(diffId.toString());
    return config;
  }

  private static ObjectNode manifest(Descriptor config, Descriptor layer) {
    ObjectNode manifest =
        Json.MAPPER
            .createObjectNode()
            .put("schemaVersion", 2)
            .put("mediaType", MediaTypes.OCI_MANIFEST);
    manifest.set("config", config.toJson());
    manifest.putArray("layers").add(layer.toJson());
    return manifest;
  }

  static byte[] bytes(ObjectNode json) {
    return json.toString().getBytes(StandardCharsets.UTF_8);
  }
}
