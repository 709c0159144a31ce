package dev.platter.registry;

import com.fasterxml.jackson.databind.json.JsonMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.platter.image.Digest;
import dev.platter.image.oci.Descriptor;
import dev.platter.image.oci.MediaTypes;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** Something that is no image but is about one, in the form that OCI 1.1 gives it. */
record Artifact(
    Descriptor subject,
    String artifactType,
    List<Descriptor> layers,
    Map<String, String> annotations) {
  private static final JsonMapper MAPPER = new JsonMapper();
  private static final byte[] BRACES = "{}".getBytes(StandardCharsets.US_ASCII);

  /** What stands where an image has its configuration, and where an artifact has no content. */
  static final BlobContent EMPTY =
      BlobContent.of(
          new Descriptor("application/vnd.oci.empty.v1+json", Digest.of(BRACES), BRACES.length),
          BRACES);

  /** The same artifact has the same bytes. */
  byte[] manifest() throws IOException {
    ObjectNode manifest = MAPPER.createObjectNode();
    manifest.put("schemaVersion", 2).put("mediaType", MediaTypes.OCI_MANIFEST);
    manifest.put("artifactType", artifactType);
    manifest.set("config", json(EMPTY.descriptor()));
    ArrayNode list = manifest.putArray("layers");
    (layers.isEmpty() ? List.of(EMPTY.descriptor()) : layers)
        .forEach(layer -> list.add(json(layer)));
    manifest.set("subject", json(subject));
    putAnnotations(manifest, annotations);
    return MAPPER.writeValueAsBytes(manifest);
  }

  /** The entry of a list of referrers. */
  ObjectNode entry(Descriptor manifest) {
    ObjectNode entry = json(manifest).put("artifactType", artifactType);
    putAnnotations(entry, annotations);
    return entry;
  }

  private static ObjectNode json(Descriptor descriptor) {
    ObjectNode node = MAPPER.createObjectNode();
    node.put("mediaType", descriptor.mediaType());
    node.put("digest", descriptor.digest().toString());
    node.put("size", descriptor.size());
    putAnnotations(node, descriptor.annotations());
    return node;
  }

  private static void putAnnotations(ObjectNode node, Map<String, String> annotations) {
    if (!annotations.isEmpty()) {
      ObjectNode object = node.putObject("annotations");
      new TreeMap<>(annotations).forEach(object::put);
    }
  }
}
