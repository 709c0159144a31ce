package dev.platter.dialect;

import dev.platter.model.Endpoint;
import dev.platter.model.PlatterException;
import dev.platter.model.RbdSource;
import dev.platter.model.Volumes;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.snakeyaml.engine.v2.nodes.SequenceNode;

/**
 * Reads the ConfigMap in which ceph-csi, and Rook for it, keeps the monitors of Ceph clusters. Any
 * other ConfigMap means nothing to Platter.
 */
final class CephClusters {
  private static final String NAME = "ceph-csi-config";
  private static final List<String> KEYS = List.of("config.json", "csi-cluster-config-json");

  private CephClusters() {}

  static Objects read(Fields fields) {
    var metadata = fields.requiredFields("metadata");
    var name = metadata == null ? null : metadata.requiredText("name", NAME);
    var data = fields.fields("data");
    if (name == null || !name.endsWith(NAME) || data == null) {
      return Objects.NONE;
    }
    var clusters = new HashMap<String, List<Endpoint>>();
    for (var key : KEYS) {
      var text = data.text(key);
      if (text != null) {
        clusters(data, key, text, clusters);
      }
    }
    return Objects.of(new Volumes(Map.of(), Map.of(), clusters));
  }

  /** The text is JSON, which is YAML; its lines are not those of the file. */
  private static void clusters(
      Fields data, String key, String text, Map<String, List<Endpoint>> out) {
    var problems = new Problems(key);
    try {
      for (var document : YamlDocuments.parse(text, problems)) {
        if (!(document instanceof SequenceNode list)) {
          problems.add(document.getStartMark(), "", "expected a list of clusters");
          continue;
        }
        for (var item : list.getValue()) {
          var cluster = Fields.of(item, "", problems);
          if (cluster != null) {
            read(cluster, out);
          }
        }
      }
      problems.throwIfAny();
    } catch (PlatterException e) {
      data.problem(key, String.join("; ", e.details()));
    }
  }

  private static void read(Fields cluster, Map<String, List<Endpoint>> out) {
    var id = cluster.requiredText("clusterID", "ceph");
    var monitors = NetworkSources.hosts(cluster, "monitors", RbdSource.DEFAULT_PORT);
    var rbd = cluster.fields("rbd");
    var namespace = rbd == null ? null : rbd.text("radosNamespace");
    if (namespace != null && !namespace.isEmpty()) {
      cluster.problem("rbd", "RADOS namespaces are not supported; this one has " + namespace);
    }
    if (id != null) {
      out.put(id, monitors);
    }
  }
}
