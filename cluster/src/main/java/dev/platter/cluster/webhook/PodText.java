package dev.platter.cluster.webhook;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.platter.cluster.api.Names;
import dev.platter.dialect.Manifests;
import dev.platter.model.Vm;
import java.util.List;

/**
 * An annotated pod as the dialect of pods can read it at admission. What it refers to need not be
 * there yet, its name may be the API server's to make up, and no node is chosen: the copy that is
 * read leaves out or makes optional all that depends on these, so that only what is wrong in itself
 * is refused. The VM that comes of it is good for its shape, not for its files.
 */
final class PodText {
  private static final List<String> FROM_OBJECTS =
      List.of(
          "VirtletCloudInitUserDataSource",
          "VirtletCloudInitUserDataSourceKey",
          "VirtletCloudInitUserDataSourceEncoding",
          "VirtletSSHKeySource",
          "VirtletFilesFromDataSource");

  private static final String NOT_YET = "00000000-0000-0000-0000-000000000000";

  private PodText() {}

  static Vm read(ObjectNode pod, String namespace) {
    var copy = Json.object();
    copy.put("apiVersion", "v1");
    copy.put("kind", "Pod");
    copy.set("metadata", metadata(Json.object(pod, "metadata"), namespace));
    copy.set("spec", spec(Json.object(pod, "spec").deepCopy()));
    return VmText.one(Manifests.objects("pod", Json.write(copy)));
  }

  private static ObjectNode metadata(ObjectNode written, String namespace) {
    var out = Json.object();
    var generated = Json.text(written, "generateName", "vm-") + "xxxxx";
    out.put("name", Json.text(written, "name", generated));
    out.put("namespace", namespace);
    out.put("uid", NOT_YET);
    out.set("labels", Json.object(written, "labels"));
    var annotations = Json.object(written, "annotations").deepCopy();
    annotations.remove(FROM_OBJECTS);
    annotations.remove(List.of(Names.IDENTITY_SET, Names.IDENTITY_NAME));
    out.set("annotations", annotations);
    return out;
  }

  private static ObjectNode spec(ObjectNode spec) {
    if (!spec.has("nodeName")) {
      spec.put("nodeName", "unknown");
    }
    for (var container : Json.objects(spec, "containers")) {
      for (var variable : Json.objects(container, "env")) {
        var from = Json.object(variable, "valueFrom");
        optional(from, "secretKeyRef");
        optional(from, "configMapKeyRef");
      }
    }
    for (var volume : Json.objects(spec, "volumes")) {
      optional(volume, "secret");
      optional(volume, "configMap");
      optional(volume, "projected");
      var projected = Json.object(volume, "projected");
      for (var source : Json.objects(projected, "sources")) {
        optional(source, "secret");
        optional(source, "configMap");
        source.remove("serviceAccountToken");
      }
      if (projected.get("sources") instanceof ArrayNode sources) {
        sources.removeIf(source -> source.isEmpty());
      }
    }
    return spec;
  }

  private static void optional(ObjectNode parent, String field) {
    if (parent.get(field) instanceof ObjectNode object) {
      object.put("optional", true);
    }
  }
}
