package dev.platter.cluster.webhook;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.platter.lab.Shell;
import java.io.IOException;
import java.util.Base64;
import org.junit.jupiter.api.Test;

/** Contents of snapshots that an administrator writes are looked after on the right node. */
class SnapshotContentTest {
  private static final String LABEL = "snapshot.storage.kubernetes.io/managed-by";
  private static final String SNAPSHOT = "snap-" + "0".repeat(32);

  private final Admission admission =
      new Admission(
          new MapObjects().with(node("node1")).with(node("node2")),
          LauncherGoldenTest.OPTIONS,
          System.err::println);

  private static ObjectNode node(String name) {
    var out = Json.object().put("kind", "Node");
    out.putObject("metadata").put("name", name);
    return out;
  }

  /** As the driver on that node calls it, by a hash that is not ours. */
  private static String handle(String node) {
    var hash = Shell.run("sh", "-c", "printf %s " + node + " | sha256sum");
    return SNAPSHOT + "." + hash.substring(0, 8);
  }

  private ObjectNode review(String handle, ObjectNode metadata) {
    var request = Json.object().put("uid", "1");
    var object = request.putObject("object");
    object.set("metadata", metadata);
    object.putObject("spec").putObject("source").put("snapshotHandle", handle);
    return admission.snapshot(request);
  }

  private static JsonNode patch(ObjectNode response) throws IOException {
    assertThat(response.path("allowed").asBoolean()).isTrue();
    return Json.MAPPER.readTree(Base64.getDecoder().decode(response.path("patch").asText()));
  }

  @Test
  void theNodeThatHasTheSnapshotIsNamedAndOtherLabelsStay() throws IOException {
    assertThat(patch(review(handle("node2"), Json.object())).at("/0/value").toString())
        .isEqualTo("{\"%s\":\"node2\"}".formatted(LABEL));
    var labelled = Json.object();
    labelled.putObject("labels").put("team", "a");
    var value = patch(review(handle("node1"), labelled)).at("/0/value");
    assertThat(value.path("team").asText()).isEqualTo("a");
    assertThat(value.path(LABEL).asText()).isEqualTo("node1");
  }

  @Test
  void whoNamesANodeKeepsIt() {
    var named = Json.object();
    named.putObject("labels").put(LABEL, "node1");
    assertThat(review(handle("node2"), named).has("patch")).isFalse();
  }

  @Test
  void aSnapshotOfNoNodeIsWarnedOf() {
    var response = review(handle("gone"), Json.object());
    assertThat(response.path("allowed").asBoolean()).isTrue();
    assertThat(response.at("/warnings/0").asText()).contains("no node of the cluster");
    assertThat(response.has("patch")).isFalse();
  }
}
