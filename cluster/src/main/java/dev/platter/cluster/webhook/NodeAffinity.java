package dev.platter.cluster.webhook;

import com.fasterxml.jackson.databind.node.ObjectNode;

/**
 * Has the scheduler place a pod where the disk of its identity is, or is to be, if it can. It is a
 * wish and no condition: a disk follows its pod, while a pod that may go nowhere else would wait
 * for a node that is full, or that somebody wants to empty.
 */
final class NodeAffinity {
  private static final int MOST = 100;

  private NodeAffinity() {}

  static void prefer(ObjectNode spec, ObjectNode identity) {
    var wanted = Json.text(Json.object(identity, "spec"), "nodeName", "");
    var node =
        wanted.isEmpty() ? Json.text(Json.object(identity, "status"), "nodeName", "") : wanted;
    if (node.isEmpty()) {
      return;
    }
    var term =
        spec.withObjectProperty("affinity")
            .withObjectProperty("nodeAffinity")
            .withArrayProperty("preferredDuringSchedulingIgnoredDuringExecution")
            .addObject()
            .put("weight", MOST);
    var field = term.putObject("preference").putArray("matchFields").addObject();
    field.put("key", "metadata.name").put("operator", "In").putArray("values").add(node);
  }
}
