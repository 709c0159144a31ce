package dev.platter.node.fill;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * What a client of the upload server hears.
 *
 * @param cdi the status where CDI would answer another
 * @param reason one word, for programs
 */
record Answer(int status, int cdi, String reason, String message, Map<String, Object> more) {
  private static final ObjectMapper JSON = new ObjectMapper();

  static Answer of(int status, int cdi, String reason, String message) {
    return new Answer(status, cdi, reason, message, Map.of());
  }

  byte[] json() {
    var all = new LinkedHashMap<String, Object>();
    all.put("reason", reason);
    all.put("message", message);
    all.putAll(more);
    try {
      return (JSON.writeValueAsString(all) + "\n").getBytes(StandardCharsets.UTF_8);
    } catch (JsonProcessingException e) {
      throw new IllegalStateException("an answer always makes JSON", e);
    }
  }
}
