package dev.platter.plan;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.platter.model.CloudInit;
import dev.platter.model.PlainMaps;
import dev.platter.model.Vm;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;

/**
 * Writes the files of a cloud-init seed. The user's own entries come first, what Platter adds is
 * merged behind.
 *
 * <p>What is YAML to cloud-init is written as JSON: its parser speaks YAML 1.1, where a plain
 * {@code no}, {@code 0123} or {@code 52:54:00:12:34:56} is not the text that the user wrote, and
 * JSON means the same in every version.
 */
final class CloudInitSeed {
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final String CLOUD_CONFIG = "#cloud-config";
  private static final String HIDDEN = "(from a Secret: not shown)\n";

  private CloudInitSeed() {}

  static Seed of(Vm vm, CloudInit cloudInit) {
    var nocloud = cloudInit.type() == CloudInit.Type.NOCLOUD;
    var shown = files(vm, cloudInit, true);
    return new Seed(nocloud ? "cidata" : "config-2", files(vm, cloudInit, false), shown);
  }

  /**
   * @param hiding whether what may be secret is left out
   */
  private static SortedMap<String, String> files(Vm vm, CloudInit cloudInit, boolean hiding) {
    var files = new TreeMap<String, String>();
    var nocloud = cloudInit.type() == CloudInit.Type.NOCLOUD;
    files.put(
        nocloud ? "meta-data" : "openstack/latest/meta_data.json",
        hiding && cloudInit.secret() ? HIDDEN : json(metaData(vm, cloudInit)));
    files.put(
        nocloud ? "user-data" : "openstack/latest/user_data",
        hiding && cloudInit.secret() ? HIDDEN : userData(vm, cloudInit, hiding));
    var network = cloudInit.networkConfig();
    if (network != null) {
      files.put(nocloud ? "network-config" : "openstack/latest/network_data.json", json(network));
    }
    return files;
  }

  /**
   * cloud-init takes a config drive's {@code hostname} and {@code uuid} for the names of NoCloud.
   */
  private static Map<String, Object> metaData(Vm vm, CloudInit cloudInit) {
    var data = new TreeMap<String, Object>();
    data.put("instance-id", vm.name() + "." + vm.namespace());
    data.put("local-hostname", vm.name());
    var drive = cloudInit.type() == CloudInit.Type.CONFIGDRIVE;
    if (drive) {
      var given = cloudInit.metaData();
      data.put("uuid", given.getOrDefault("instance-id", vm.uuid().toString()));
      data.put("hostname", given.getOrDefault("local-hostname", vm.name()));
    }
    if (!cloudInit.sshKeys().isEmpty()) {
      data.put(drive ? "public_keys" : "public-keys", publicKeys(cloudInit));
    }
    return new TreeMap<>(PlainMaps.merge(data, cloudInit.metaData()));
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

  /** A script of the user's is all that the guest gets, so it takes the place of the rest. */
  private static String userData(Vm vm, CloudInit cloudInit, boolean hiding) {
    var text = cloudInit.userDataText();
    if (text != null) {
      return text.contains(CloudInit.MOUNT_SCRIPT)
          ? text.replace(CloudInit.MOUNT_SCRIPT, GuestScript.of(vm, true, hiding))
          : text;
    }
    var ours = new LinkedHashMap<String, Object>();
    if (!cloudInit.sshKeys().isEmpty()) {
      ours.put("ssh_authorized_keys", cloudInit.sshKeys());
    }
    ours.putAll(GuestConfig.of(vm, hiding));
    var data = PlainMaps.merge(cloudInit.userData(), ours);
    return CLOUD_CONFIG + "\n" + (data.isEmpty() ? "" : json(data));
  }

  private static String json(Map<String, Object> map) {
    try {
      return JSON.writerWithDefaultPrettyPrinter().writeValueAsString(map) + "\n";
    } catch (JsonProcessingException e) {
      throw new IllegalArgumentException("plain maps and lists always make JSON", e);
    }
  }
}
