package dev.platter.cluster.webhook;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.platter.cluster.api.Names;
import dev.platter.model.Driver;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * The volumes of a launcher pod. Each is mounted, since a kubelet deals with no volume that no
 * container asks for; the launcher itself looks at none but the socket's.
 */
final class LauncherVolumes {
  private static final String CLAIM_PREFIX = "platter-claim-";
  private static final List<String> FILES =
      List.of("configMap", "secret", "projected", "downwardAPI");

  private final String namespace;
  private final ClusterObjects cluster;
  private final ArrayNode volumes = Json.list();
  private final ArrayNode mounts = Json.list();
  private final ArrayNode devices = Json.list();
  private final Set<String> claims = new LinkedHashSet<>();
  private final Map<String, DataRef> data = new LinkedHashMap<>();
  private int pullSecrets;

  LauncherVolumes(String namespace, ClusterObjects cluster) {
    this.namespace = namespace;
    this.cluster = cluster;
  }

  static boolean reserved(String name) {
    return name.equals(Names.SOCKET_VOLUME)
        || name.startsWith(Names.DATA_VOLUME_PREFIX)
        || name.startsWith(Names.PULL_VOLUME_PREFIX)
        || name.startsWith(CLAIM_PREFIX);
  }

  ArrayNode volumes() {
    return volumes;
  }

  ArrayNode mounts() {
    return mounts;
  }

  ArrayNode devices() {
    return devices;
  }

  /** A volume that the user wrote. */
  void add(ObjectNode volume, Driver driver) {
    var name = Json.text(volume, "name", "");
    var claim = Json.text(Json.object(volume, "persistentVolumeClaim"), "claimName");
    if (claim != null) {
      claims.add(claim);
      claimVolume(volume, claim, driver);
    } else if (FILES.stream().anyMatch(volume::hasNonNull)) {
      mounted(volume);
    } else if (!volume.hasNonNull("flexVolume")) {
      throw Json.refused(
          "spec.volumes: "
              + name
              + " cannot be given to a VM; it takes persistentVolumeClaim and flexVolume as disks,"
              + " and configMap, secret, projected and downwardAPI as files");
    }
  }

  /** A claim that a disk names; it may be a volume of the pod already. */
  void claim(String claim, Driver driver) {
    if (claims.add(claim)) {
      var volume = Json.object().put("name", CLAIM_PREFIX + (claims.size() - 1));
      volume.putObject("persistentVolumeClaim").put("claimName", claim);
      claimVolume(volume, claim, driver);
    }
  }

  /** A claim that is a block device, be it there or not; the pod waits for it. */
  void device(String claim) {
    if (!claims.add(claim)) {
      throw Json.refused("spec.volumes: the claim " + claim + " is the root disk already");
    }
    var volume = Json.object().put("name", CLAIM_PREFIX + (claims.size() - 1));
    volume.putObject("persistentVolumeClaim").put("claimName", claim);
    mapped(volume);
  }

  private void mapped(ObjectNode volume) {
    volumes.add(volume);
    var name = Json.text(volume, "name", "");
    devices.addObject().put("name", name).put("devicePath", path(name));
  }

  private void claimVolume(ObjectNode volume, String claim, Driver driver) {
    switch (ClaimWay.of(namespace, claim, driver, cluster)) {
      case ClaimWay.Directory _ -> mounted(volume);
      case ClaimWay.Device _ -> mapped(volume);
      case ClaimWay.Direct direct ->
          direct.secrets().forEach(secret -> data(DataRef.secret(secret)));
    }
  }

  /** One volume for each object; it is optional only if all who name it say so. */
  void data(DataRef ref) {
    data.merge(
        ref.kind() + "/" + ref.name(),
        ref,
        (one, other) -> new DataRef(one.kind(), one.name(), one.optional() && other.optional()));
  }

  /** As with the kubelet, one that is not there is no reason not to try. */
  void pullSecret(String name) {
    if (!name.isEmpty()) {
      mounted(
          new DataRef(DataRef.Kind.SECRET, name, true)
              .volume(Names.PULL_VOLUME_PREFIX + pullSecrets++));
    }
  }

  /** When all that the VM names is known: the volumes that come of it, and the socket's. */
  void done() {
    var number = 0;
    for (var ref : data.values()) {
      mounted(ref.volume(Names.DATA_VOLUME_PREFIX + number++));
    }
    var volume = Json.object().put("name", Names.SOCKET_VOLUME);
    volume.putObject("csi").put("driver", Names.CSI_DRIVER).put("readOnly", true);
    volumes.add(volume);
    mount(Names.SOCKET_VOLUME, Names.SOCKET_DIRECTORY);
  }

  private void mounted(ObjectNode volume) {
    volumes.add(volume);
    var name = Json.text(volume, "name", "");
    mount(name, path(name));
  }

  private void mount(String name, String path) {
    mounts.addObject().put("name", name).put("mountPath", path).put("readOnly", true);
  }

  private static String path(String name) {
    return Names.VOLUMES_DIRECTORY + "/" + name;
  }
}
