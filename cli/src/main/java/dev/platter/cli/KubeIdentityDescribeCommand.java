package dev.platter.cli;

import com.fasterxml.jackson.databind.JsonNode;
import dev.platter.cluster.ClusterIdentities;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Parameters;

@Command(name = "describe", description = "Show what is known of an identity.")
final class KubeIdentityDescribeCommand extends KubeIdentityAction {
  private static final List<String> FIELDS =
      List.of("identitySet", "image", "firmwareUUID", "firmwareUUIDPolicy", "type", "size");

  @Parameters(paramLabel = "IDENTITY", description = "Name of the identity.")
  @Nullable String name;

  @Mixin OutputOption output = new OutputOption();

  @Override
  void run(ClusterIdentities cluster) {
    var where = namespace(cluster);
    var wanted = String.valueOf(name);
    var found =
        cluster.find(where, wanted).orElseThrow(() -> ClusterIdentities.missing(where, wanted));
    output.print(described(found), out());
  }

  /** In the words of the objects, and in the order of one machine. */
  private static Map<String, Object> described(ClusterIdentities.Found found) {
    var identity = found.identity();
    var status = found.status();
    var out = new LinkedHashMap<String, Object>();
    out.put("namespace", identity.getMetadata().getNamespace());
    out.put("name", identity.getMetadata().getName());
    for (var field : FIELDS) {
      out.put(field, Optional.ofNullable(identity.getSpec().get(field)).map(JsonNode::asText));
    }
    out.put("wantedNode", Optional.ofNullable(identity.wantedNode()));
    out.put("creationTime", Optional.ofNullable(status.creationTime()));
    out.put("ready", status.ready());
    out.put("node", Optional.ofNullable(status.nodeName()));
    out.put("virtualSize", Optional.ofNullable(status.size()).map(Bytes::new));
    out.put("usedBy", found.usedBy());
    var conditions = new LinkedHashMap<String, Object>();
    for (var condition : status.conditions()) {
      var said = new LinkedHashMap<String, Object>();
      said.put("status", condition.status());
      said.put("reason", Optional.ofNullable(condition.reason()));
      said.put("message", Optional.ofNullable(condition.message()));
      conditions.put(condition.type(), said);
    }
    out.put("conditions", conditions);
    return out;
  }
}
