package dev.platter.cluster.webhook;

import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fabric8.kubernetes.client.utils.Serialization;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;

/** YAML as the API server's clients read it. */
final class Yaml {
  private Yaml() {}

  static ObjectNode one(String yaml) {
    return all(yaml).getFirst();
  }

  static List<ObjectNode> all(String yaml) {
    var out = new ArrayList<ObjectNode>();
    try (var documents =
        Serialization.yamlMapper()
            .readerFor(com.fasterxml.jackson.databind.JsonNode.class)
            .readValues(yaml)) {
      while (documents.hasNext()) {
        if (documents.next() instanceof ObjectNode object) {
          out.add(object);
        }
      }
    } catch (IOException e) {
      throw new IllegalArgumentException(yaml, e);
    }
    return out;
  }
}
