package dev.platter.dialect;

import dev.platter.dialect.VolumeObjects.Found;
import dev.platter.model.RbdSource;
import dev.platter.model.SecretData;
import dev.platter.model.Volume;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * Reads a {@code flexVolume}, be it a pod's or a PersistentVolume's: {@code qcow2}, {@code raw} and
 * {@code ceph} of the drivers for VMs, and the Ceph volumes of other drivers. Option names may have
 * any case.
 */
final class FlexVolumes {
  static final Set<String> DRIVERS =
      Set.of("virtlet/flexvolume_driver", "kubernetes.io/flexvolume_driver");

  private static final Set<String> TYPES = Set.of("qcow2", "raw", "ceph");
  private static final String DEFAULT_CAPACITY = "1024MB";
  private static final Pattern USER = Pattern.compile("[\\x21-\\x7e]{1,223}");
  private static final String KEY = "key";
  private static final int MOST_PARTITIONS = 128;

  /** An ext4 file system fits, and the partition table can say how large it is. */
  private static final long LEAST_BYTES = 16L << 20;

  private static final long MOST_BYTES = 2L << 40;

  private final Fields volume;
  private final Fields options;
  private final boolean ours;
  private final String space;
  private final String name;

  /**
   * @param ours whether all of its options are known
   * @param space stands for a namespace in the name of the Secret that is made of a key among the
   *     options. No namespace has a capital letter, so no other Secret has this name
   */
  private FlexVolumes(Fields volume, Fields options, boolean ours, String space, String name) {
    this.volume = volume;
    this.options = options;
    this.ours = ours;
    this.space = space;
    this.name = name;
  }

  /** Null, with the reasons reported, if it cannot be read. */
  static @Nullable Found read(Fields volume, String space, String name) {
    var driver = volume.requiredText("driver", "virtlet/flexvolume_driver");
    var options = volume.folded("options");
    if (driver == null) {
      return null;
    }
    var type = options == null ? null : options.text("type");
    if (!DRIVERS.contains(driver) && !driver.contains("ceph") && !"ceph".equals(type)) {
      return VolumeStorage.unknown("flexVolume with driver " + driver);
    }
    if (options == null) {
      volume.problem("needs options with a type, such as type: qcow2");
      return null;
    }
    var ours = DRIVERS.contains(driver);
    var reader = new FlexVolumes(volume, options, ours, space, name);
    return ours ? reader.typed(type) : reader.ceph();
  }

  private @Nullable Found typed(@Nullable String type) {
    if (type == null || !TYPES.contains(type)) {
      options.problem(
          "type",
          type == null
              ? "is missing; write qcow2, raw or ceph"
              : "unknown type '" + Fields.brief(type) + "'" + Suggestion.among(type, TYPES));
      return null;
    }
    return switch (type) {
      case "qcow2" -> fresh();
      case "raw" -> raw();
      default -> ceph();
    };
  }

  private @Nullable Found fresh() {
    var capacity =
        options.has("capacity")
            ? options.parsed("capacity", LibvirtSize::parse)
            : LibvirtSize.parse(DEFAULT_CAPACITY);
    options.ignore("uuid");
    if (capacity != null && (capacity.bytes() < LEAST_BYTES || capacity.bytes() > MOST_BYTES)) {
      options.problem("capacity", "a volume has 16MiB at least and 2TiB at most");
    }
    return capacity == null ? null : found(new Volume.Fresh(capacity), SecretData.NONE);
  }

  private @Nullable Found raw() {
    var path = Paths.absolute(options, "path", "/dev/loop0");
    if (path == null) {
      return null;
    }
    if (!path.startsWith("/dev/") || List.of(path.split("/", -1)).contains("..")) {
      options.problem("path", "a raw device is a path below /dev, without '..'");
      return null;
    }
    return found(new Volume.Listed(path), SecretData.NONE);
  }

  private @Nullable Found ceph() {
    var monitor = options.has("monitors") ? "monitors" : "monitor";
    var texts = options.requiredText(monitor, "192.0.2.1:6789");
    options.ignore("protocol");
    if (texts == null) {
      return null;
    }
    var monitors =
        NetworkSources.hosts(
            options, monitor, List.of(texts.strip().split("[, ]+")), RbdSource.DEFAULT_PORT);
    var pool = VolumeStorage.word(options, "pool", "rbd");
    var image =
        NetworkSources.word(
            options, options.has("image") ? "image" : "volume", "disk1", NetworkSources.WORD);
    var user = options.has("user") ? NetworkSources.word(options, "user", "admin", USER) : "admin";
    var secret = options.text("secret");
    if (pool == null || image == null || user == null || monitors.isEmpty()) {
      return null;
    }
    var login =
        secret == null
            ? VolumeStorage.login(volume, "secretRef", user, "", KEY)
            : new Volume.Login(user, "", space, name, KEY);
    return found(
        new Volume.Rbd(monitors, null, pool, image, login),
        secret == null
            ? SecretData.NONE
            : new SecretData(
                Map.of(
                    space + "/" + name,
                    Map.of(KEY, secret.strip().getBytes(StandardCharsets.UTF_8)))));
  }

  private @Nullable Found found(Volume.Storage storage, SecretData secrets) {
    var before = options.problemCount();
    var partition = options.integer("part", 0, MOST_PARTITIONS);
    var fsType = volume.text("fsType");
    var readOnly = volume.flag("readOnly");
    volume.ignore("secretRef");
    if (ours) {
      options.done();
      volume.done();
    }
    return options.problemCount() > before
        ? null
        : new Found(
            storage,
            fsType == null || fsType.isEmpty() ? null : fsType,
            readOnly,
            secrets,
            partition);
  }
}
