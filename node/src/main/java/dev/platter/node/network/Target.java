package dev.platter.node.network;

import com.fasterxml.jackson.core.JacksonException;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.HashSet;
import java.util.List;

/**
 * A disk on the network, in QEMU's words.
 *
 * @param driverJson the options of QEMU's protocol driver, as {@code blockdev-add} takes them, such
 *     as {@code {"driver":"iscsi","transport":"tcp","portal":…,"password-secret":"s0"}}; it holds
 *     no secrets
 * @param secrets those that the options refer to
 * @param objects other objects that they refer to, as QEMU's {@code --object} takes them
 */
public record Target(String driverJson, List<SecretValue> secrets, List<String> objects) {
  private static final ObjectMapper JSON =
      new ObjectMapper().enable(DeserializationFeature.FAIL_ON_TRAILING_TOKENS);

  public Target {
    secrets = List.copyOf(secrets);
    objects = List.copyOf(objects);
    var ids = new HashSet<String>();
    for (SecretValue secret : secrets) {
      if (secret.id().equals(SecretArguments.MASTER) || !ids.add(secret.id())) {
        throw new IllegalArgumentException("two secrets named '" + secret.id() + "'");
      }
    }
    parse(driverJson);
  }

  public Target(String driverJson, List<SecretValue> secrets) {
    this(driverJson, secrets, List.of());
  }

  /** The name that QEMU opens: a raw disk, whatever its first bytes look like. */
  String file() {
    ObjectNode raw = JSON.createObjectNode().put("driver", "raw");
    raw.set("file", parse(driverJson));
    return "json:" + raw;
  }

  /** What QEMU said of it, on one line, without that name and without secrets. */
  String said(String output) {
    String said = output.replaceAll("\\p{Cntrl}+", " ").strip();
    said = said.replace("Failed to blk_new_open '" + file() + "': ", "");
    said = said.replace("Could not open '" + file() + "': ", "");
    for (SecretValue secret : secrets) {
      said = secret.masked(said);
    }
    return said;
  }

  private static ObjectNode parse(String json) {
    try {
      JsonNode node = JSON.readTree(json);
      if (node instanceof ObjectNode options && options.path("driver").isTextual()) {
        return options;
      }
    } catch (JacksonException e) {
      throw new IllegalArgumentException("the options of a network disk are not JSON", e);
    }
    throw new IllegalArgumentException("the options of a network disk name no driver");
  }
}
