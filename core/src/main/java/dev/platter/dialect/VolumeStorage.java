package dev.platter.dialect;

import dev.platter.dialect.VolumeObjects.Found;
import dev.platter.model.Endpoint;
import dev.platter.model.IscsiSource;
import dev.platter.model.RbdSource;
import dev.platter.model.SecretData;
import dev.platter.model.Volume;
import java.util.List;
import java.util.Set;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * Reads the one field of a volume's {@code spec} that says where its bytes are. Left out: further
 * portals of an iSCSI target ({@code portals}), since QEMU uses one path, and its {@code
 * initiatorName}; Ceph keyrings that lie on the machine.
 */
final class VolumeStorage {
  /** Everything else in {@code spec} names a type of volume. */
  private static final Set<String> GENERAL =
      Set.of(
          "accessModes",
          "capacity",
          "claimRef",
          "mountOptions",
          "nodeAffinity",
          "persistentVolumeReclaimPolicy",
          "storageClassName",
          "volumeAttributesClassName",
          "volumeMode");

  private static final Pattern CEPH_CSI = Pattern.compile("(.+\\.)?rbd\\.csi\\.ceph\\.com");
  private static final Pattern USER = Pattern.compile("[\\x21-\\x7e]{1,223}");
  private static final String KEY = "key";

  private final Fields storage;

  private VolumeStorage(Fields storage) {
    this.storage = storage;
  }

  /** Null, with the reasons reported, if it cannot be read. */
  static @Nullable Found read(Fields spec, String volume) {
    var types = spec.names().stream().filter(name -> !GENERAL.contains(name)).toList();
    if (types.size() != 1) {
      spec.problem(
          types.isEmpty()
              ? "says not where the volume is, such as local: {path: /dev/vdb}"
              : "gives " + String.join(" and ", types) + "; a volume has one type");
      return null;
    }
    var type = types.getFirst();
    var fields = spec.requiredFields(type);
    if (fields == null) {
      return null;
    }
    var reader = new VolumeStorage(fields);
    return switch (type) {
      case "iscsi" -> reader.iscsi();
      case "rbd" -> reader.rbd();
      case "flexVolume" -> FlexVolumes.read(fields, "PersistentVolume", volume);
      case "csi" -> reader.csi();
      case "local", "hostPath" -> reader.local();
      default -> unknown(type);
    };
  }

  static Found unknown(String type) {
    return new Found(new Volume.Unknown(type), null, false, SecretData.NONE, null);
  }

  private @Nullable Found found(Volume.@Nullable Storage found) {
    var fsType = storage.text("fsType");
    var readOnly = storage.flag("readOnly");
    return found == null
        ? null
        : new Found(
            found,
            fsType == null || fsType.isEmpty() ? null : fsType,
            readOnly,
            SecretData.NONE,
            null);
  }

  private @Nullable Found local() {
    var path = Paths.absolute(storage, "path", "/var/lib/disks/vm1");
    return path == null ? null : found(new Volume.Local(path));
  }

  private @Nullable Found iscsi() {
    var portal = storage.requiredText("targetPortal", "192.0.2.1:3260");
    var host =
        portal == null
            ? null
            : storage.<Endpoint>parsed(
                "targetPortal", text -> Endpoint.parse(text, IscsiSource.DEFAULT_PORT));
    var iqn =
        NetworkSources.word(
            storage, "iqn", "iqn.2017-01.com.example:target", NetworkSources.ISCSI_NAME);
    var lun = storage.integer("lun", 0, 16383);
    Volume.Login login = null;
    if (storage.flag("chapAuthSession")) {
      login =
          login(
              storage,
              "secretRef",
              null,
              "node.session.auth.username",
              "node.session.auth.password");
      if (login == null) {
        storage.problem("chapAuthSession", "needs a secretRef with the name of a Secret");
      }
    }
    return host == null || iqn == null
        ? null
        : found(new Volume.Iscsi(host, iqn, lun == null ? 0 : lun, login));
  }

  private @Nullable Found rbd() {
    var monitors = NetworkSources.hosts(storage, "monitors", RbdSource.DEFAULT_PORT);
    var pool = word(storage, "pool", "rbd");
    var image = NetworkSources.word(storage, "image", "disk1", NetworkSources.WORD);
    var login = login(storage, "secretRef", user(storage), "", KEY);
    return pool == null || image == null || monitors.isEmpty()
        ? null
        : found(new Volume.Rbd(monitors, null, pool, image, login));
  }

  private @Nullable Found csi() {
    var driver = storage.requiredText("driver", "rbd.csi.ceph.com");
    if (driver == null) {
      return null;
    }
    if (!CEPH_CSI.matcher(driver).matches()) {
      return unknown("csi with driver " + driver);
    }
    var handle = storage.text("volumeHandle");
    var attributes = storage.requiredFields("volumeAttributes");
    if (attributes == null) {
      return null;
    }
    var cluster = attributes.requiredText("clusterID", "the clusterID in ceph-csi-config");
    var pool = NetworkSources.word(attributes, "pool", "rbd", NetworkSources.WORD);
    var encrypted = attributes.text("encrypted");
    if (encrypted != null && !encrypted.equals("false")) {
      attributes.problem("encrypted", "QEMU cannot read what ceph-csi has encrypted");
    }
    var image = attributes.text("imageName");
    if (image == null && attributes.flag("staticVolume")) {
      image = handle;
    }
    if (image == null || !NetworkSources.WORD.matcher(image).matches()) {
      attributes.problem("imageName", "names no image; a static volume has it as its volumeHandle");
    }
    var login = login(storage, "nodeStageSecretRef", null, "userID", "userKey");
    return cluster == null || pool == null || image == null
        ? null
        : found(new Volume.Rbd(List.of(), cluster, pool, image, login));
  }

  static @Nullable String word(Fields fields, String key, String fallback) {
    return fields.has(key)
        ? NetworkSources.word(fields, key, fallback, NetworkSources.WORD)
        : fallback;
  }

  /** Kubernetes' default too. */
  private static String user(Fields fields) {
    var user = fields.has("user") ? NetworkSources.word(fields, "user", "admin", USER) : null;
    return user == null ? "admin" : user;
  }

  static Volume.@Nullable Login login(
      Fields storage, String field, @Nullable String user, String userKey, String key) {
    var secret = storage.fields(field);
    var name = secret == null ? null : secret.requiredText("name", "my-secret");
    var namespace = secret == null ? null : secret.text("namespace");
    return name == null ? null : new Volume.Login(user, userKey, namespace, name, key);
  }
}
