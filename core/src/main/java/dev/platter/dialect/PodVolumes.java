package dev.platter.dialect;

import dev.platter.dialect.VolumeObjects.Found;
import dev.platter.model.Binding;
import dev.platter.model.Volume;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.Map;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/** Reads the {@code volumes} of a pod. */
final class PodVolumes {
  private static final String CLAIM = "persistentVolumeClaim";
  private static final String FLEX = "flexVolume";

  /** A volume of the pod. */
  sealed interface PodVolume {}

  /** Files in a directory of the guest. */
  record FileVolume(SortedMap<String, PodFiles.Entry> files, boolean optional)
      implements PodVolume {}

  /** A disk that the pod itself describes. */
  record FlexDisk(Found found) implements PodVolume {}

  /**
   * A disk that a claim leads to.
   *
   * @param partition what the volume says of it
   */
  record ClaimDisk(String claim, boolean readOnly, @Nullable Integer partition)
      implements PodVolume {}

  private final Objects given;
  private final String namespace;
  private final String pod;
  private final PodFiles files;
  private final Set<String> names = new LinkedHashSet<>();

  PodVolumes(Objects given, String namespace, String pod, PodFiles files) {
    this.given = given;
    this.namespace = namespace;
    this.pod = pod;
    this.files = files;
  }

  /** Of all volumes that were read, whatever is wrong with them. */
  Set<String> names() {
    return names;
  }

  /** By name, in the order in which they were written. */
  Map<String, PodVolume> read(Fields spec) {
    var out = new LinkedHashMap<String, PodVolume>();
    for (var fields : spec.mappings("volumes")) {
      var name = fields.requiredText("name", "data");
      if (name == null) {
        continue;
      }
      if (!name.matches("[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")) {
        fields.problem(
            "name",
            "'"
                + Fields.brief(name)
                + "' is not a name: 1 to 63 lower-case letters, digits, dashes");
        continue;
      }
      if (!names.add(name)) {
        fields.problem("name", "two volumes are named " + name);
      }
      var volume = volume(fields, name);
      if (volume != null) {
        out.putIfAbsent(name, volume);
      }
    }
    return out;
  }

  private @Nullable PodVolume volume(Fields fields, String name) {
    var types = fields.names().stream().filter(key -> !key.equals("name")).toList();
    if (types.size() != 1) {
      fields.problem(
          types.isEmpty()
              ? "says not what it is, such as flexVolume or configMap"
              : "gives " + Fields.brief(String.join(" and ", types)) + "; a volume has one type");
      return null;
    }
    var type = types.getFirst();
    var volume = fields.requiredFields(type);
    if (volume == null) {
      return null;
    }
    if (PodFiles.isFiles(type)) {
      var mounted = given.mounted().get(namespace + "/" + pod + "/" + name);
      var optional = volume.flag("optional");
      return new FileVolume(
          mounted == null ? files.read(type, volume) : PodFiles.mounted(mounted), optional);
    }
    return switch (type) {
      case FLEX -> flex(volume, name);
      case CLAIM -> claim(volume);
      default -> {
        fields.problem(
            type,
            "a guest cannot be given such a volume; it takes flexVolume and persistentVolumeClaim as"
                + " disks, and configMap, secret, projected and downwardAPI as files");
        yield null;
      }
    };
  }

  private @Nullable PodVolume flex(Fields volume, String name) {
    var driver = volume.text("driver");
    if (driver != null && !FlexVolumes.DRIVERS.contains(driver)) {
      volume.problem(
          "driver",
          "'"
              + Fields.brief(driver)
              + "' is not a driver for VMs"
              + Suggestion.among(driver, FlexVolumes.DRIVERS));
      return null;
    }
    var secret = volume.fields("secretRef");
    if (secret != null && secret.has("namespace")) {
      secret.problem("namespace", "a pod has Secrets of its own namespace only; remove it");
      return null;
    }
    var found = FlexVolumes.read(volume, "Pod", namespace + "." + pod + "." + name);
    return found == null ? null : new FlexDisk(found);
  }

  private @Nullable PodVolume claim(Fields volume) {
    var name = volume.requiredText("claimName", "my-claim");
    var readOnly = volume.flag("readOnly");
    volume.done();
    if (name == null) {
      return null;
    }
    if (!Names.valid(name)) {
      volume.problem("claimName", Names.complaint(name));
      return null;
    }
    var claim = given.volumes().claims().get(namespace + "/" + name);
    if (claim == null) {
      return new ClaimDisk(name, readOnly, null);
    }
    var bound = Binding.of(claim, given.volumes());
    return new ClaimDisk(
        name,
        readOnly || claim.readOnly() || bound.map(Volume::readOnly).orElse(false),
        bound.map(Volume::partition).orElse(null));
  }

  /** What is attached as a disk, by name. */
  static SortedMap<String, PodVolume> disks(Map<String, PodVolume> volumes) {
    var out = new TreeMap<String, PodVolume>();
    volumes.forEach(
        (name, volume) -> {
          if (!(volume instanceof FileVolume)) {
            out.put(name, volume);
          }
        });
    return out;
  }
}
