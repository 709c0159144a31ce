package dev.platter.image.oci;

import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.platter.image.Digest;
import java.nio.charset.StandardCharsets;

/**
 * A disk file as an artifact whose one layer it is, as {@code oras push} makes them. Nothing but
 * the file's bytes counts: the same file is the same image, wherever it came from.
 *
 * @param disk digest and size of the file
 */
public record BareDisk(Descriptor disk) {
  private static final String EMPTY_TYPE = "application/vnd.oci.empty.v1+json";
  private static final String DISK_TYPE = "application/octet-stream";
  private static final byte[] EMPTY = "{}".getBytes(StandardCharsets.UTF_8);

  public static BareDisk of(Digest digest, long size) {
    return new BareDisk(new Descriptor(DISK_TYPE, digest, size));
  }

  /** The manifest, of which the digest is the image's. */
  public byte[] manifest() {
    ObjectNode manifest =
        Json.MAPPER
            .createObjectNode()
            .put("schemaVersion", 2)
            .put("mediaType", MediaTypes.OCI_MANIFEST)
            .put("artifactType", DISK_TYPE);
    manifest.set("config", new Descriptor(EMPTY_TYPE, Digest.of(EMPTY), EMPTY.length).toJson());
    manifest.putArray("layers").add(disk.toJson());
    return NewImage.bytes(manifest);
  }
}
