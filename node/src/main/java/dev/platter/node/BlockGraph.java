package dev.platter.node;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.platter.model.PlatterException;
import dev.platter.model.PlatterException.Code;
import java.nio.file.Path;
import java.util.Map;
import java.util.function.UnaryOperator;

/**
 * The block nodes of a running QEMU. libvirt names them in pairs, a format node on a storage node;
 * a base behind NBD is a raw format node, and its storage can be changed under it while the guest
 * reads: QEMU waits for the requests that are under way and goes on with the other file, which has
 * the same bytes.
 */
final class BlockGraph {
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final String STORAGE = "-storage";
  private static final String FORMAT = "-format";

  private final UnaryOperator<String> monitor;

  /**
   * @param monitor sends a QMP command and returns the answer
   */
  BlockGraph(UnaryOperator<String> monitor) {
    this.monitor = monitor;
  }

  /** How many nodes read the file now that read the export before. */
  int replace(String export, Path base) {
    var replaced = 0;
    var hex = export.substring(export.indexOf(':') + 1);
    for (var node : execute("query-named-block-nodes", Map.of("flat", true))) {
      var name = node.path("node-name").asText();
      if (node.path("drv").asText().equals("nbd")
          && node.path("file").asText().contains(hex)
          && name.endsWith(STORAGE)) {
        replace(name, base);
        replaced++;
      }
    }
    return replaced;
  }

  private void replace(String storage, Path base) {
    var pair = storage.substring(0, storage.length() - STORAGE.length());
    var file = "platter-" + pair;
    execute(
        "blockdev-add",
        Map.of("driver", "file", "node-name", file, "filename", base.toString(), "read-only", true));
    try {
      execute(
          "blockdev-reopen",
          Map.of(
              "options",
              new Object[] {
                Map.of("driver", "raw", "node-name", pair + FORMAT, "file", file, "read-only", true)
              }));
    } catch (PlatterException e) {
      execute("blockdev-del", Map.of("node-name", file));
      throw e;
    }
    execute("blockdev-del", Map.of("node-name", storage));
  }

  private JsonNode execute(String command, Map<String, ?> arguments) {
    try {
      ObjectNode request = JSON.createObjectNode().put("execute", command);
      request.set("arguments", JSON.valueToTree(arguments));
      var answer = JSON.readTree(monitor.apply(JSON.writeValueAsString(request)));
      if (answer.has("error")) {
        throw PlatterException.of(
            Code.INTERNAL,
            "QEMU refuses " + command + ": " + answer.path("error").path("desc").asText(),
            "");
      }
      return answer.path("return");
    } catch (JsonProcessingException e) {
      throw PlatterException.of(Code.INTERNAL, "QEMU's monitor does not answer in JSON", "", e);
    }
  }
}
