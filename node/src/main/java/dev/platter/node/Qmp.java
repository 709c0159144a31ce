package dev.platter.node;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.platter.model.PlatterException;
import dev.platter.model.PlatterException.Code;
import java.util.Map;
import java.util.function.UnaryOperator;

/** QEMU's own monitor, for what libvirt has no words for. */
final class Qmp {
  private static final ObjectMapper JSON = new ObjectMapper();

  private final UnaryOperator<String> monitor;

  /**
   * @param monitor sends a QMP command and returns the answer
   */
  Qmp(UnaryOperator<String> monitor) {
    this.monitor = monitor;
  }

  JsonNode execute(String command) {
    return execute(command, Map.of());
  }

  JsonNode execute(String command, Map<String, ?> arguments) {
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
