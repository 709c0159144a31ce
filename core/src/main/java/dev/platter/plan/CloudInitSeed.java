package dev.platter.plan;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.platter.model.CloudInit;
import dev.platter.model.Vm;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * /** Writes the files of a cloud-init seed. The user's own entries come first, what Platter adds
 * is merged behind.
 *
 * <p>What is YAML to cloud-init is written as JSON: its parser speaks YAML 1.1, where a plain
 * {@code no}, {@code 0123} or {@code 52:54:00:12:34:56} is not the text that the user wrote, and
 * JSON means the same in every version.
 */
final class CloudInitSeed {
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final String CLOUD_CONFIG = "#cloud-config";

  private CloudInitSeed() {}

  static Seed of(Vm vm, CloudInit cloudInit) {
    var files = new TreeMap<String, String>();
    var nocloud = cloudInit.type() == CloudInit.Type.NOCLOUD;
    files.put(
        nocloud ? "meta-data" : "openstack/latest/meta_data.json", json(metaData(vm, cloudInit)));
    files.put(nocloud ? "user-data" : "openstack/latest/user_data", userData(cloudInit));
    var network = cloudInit.networkConfig();
    if (network != null) {
      files.put(nocloud ? "network-config" : "openstack/latest/network_data.json", json(network));
    }
    return new Seed(nocloud ? "cidata" : "config-2", files);
  }

  private static Map<String, Object> metaData(Vm vm, CloudInit cloudInit) {
    var instance = vm.name() + "." + vm.namespace();
    var data = new TreeMap<String, Object>();
    data.put("instance-id", instance);
    data.put("local-hostname", vm.name());
    if (cloudInit.type() == CloudInit.Type.CONFIGDRIVE) {
      data.put("uuid", vm.uuid().toString());
      data.put("hostname", vm.name());
    }
    if (!cloudInit.sshKeys().isEmpty()) {
      data.put("public-keys", publicKeys(cloudInit));
    }
    return new TreeMap<>(merge(data, cloudInit.metaData()));
  }

  /** NoCloud takes a list; a config drive takes OpenStack's mapping. */
  private static Object publicKeys(CloudInit cloudInit) {
    if (cloudInit.type() == CloudInit.Type.NOCLOUD) {
      return cloudInit.sshKeys();
    }
    var keys = new LinkedHashMap<String, Object>();
    for (var i = 0; i < cloudInit.sshKeys().size(); i++) {
      keys.put(Integer.toString(i), cloudInit.sshKeys().get(i));
    }
    return keys;
  }

  private static String userData(CloudInit cloudInit) {
    if (cloudInit.userDataText() != null) {
      return cloudInit.userDataText();
    }
    Map<String, Object> ours =
        cloudInit.sshKeys().isEmpty()
            ? Map.of()
            : Map.of("ssh_authorized_keys", cloudInit.sshKeys());
    var data = merge(cloudInit.userData(), ours);
    return CLOUD_CONFIG + "\n" + (data.isEmpty() ? "" : json(data));
  }

  /** Maps are merged deeply, lists appended; for anything else what comes later wins. */
  static Map<String, Object> merge(Map<String, Object> first, Map<String, Object> second) {
    var out = new LinkedHashMap<>(first);
    second.forEach(
        (key, value) -> {
          var known = out.get(key);
          out.put(key, known == null || value == null ? value : mergeValue(known, value));
        });
    return out;
  }

  @SuppressWarnings("unchecked") // keys of the maps that come from YAML and from us are text
  private static Object mergeValue(Object first, Object second) {
    if (first instanceof Map<?, ?> left && second instanceof Map<?, ?> right) {
      return merge((Map<String, Object>) left, (Map<String, Object>) right);
    }
    if (first instanceof List<?> left && second instanceof List<?> right) {
      var joined = new ArrayList<Object>(left);
      joined.addAll(right);
      return joined;
    }
    return second;
  }

  private static String json(Map<String, Object> map) {
    try {
      return JSON.writerWithDefaultPrettyPrinter().writeValueAsString(map) + "\n";
    } catch (JsonProcessingException e) {
      throw new IllegalArgumentException("plain maps and lists always make JSON", e);
    }
  }
}
