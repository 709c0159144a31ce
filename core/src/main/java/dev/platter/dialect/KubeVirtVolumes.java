package dev.platter.dialect;

import dev.platter.model.BlankSource;
import dev.platter.model.CloudInit;
import dev.platter.model.CopyMode;
import dev.platter.model.DiskFormat;
import dev.platter.model.FileSource;
import dev.platter.model.ImageSource;
import dev.platter.model.PlatterException;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Reads the {@code volumes} of KubeVirt's objects. What would need a cluster is refused, with what
 * to do instead; the rest means here what it means there.
 */
final class KubeVirtVolumes {
  private static final List<String> KINDS =
      List.of(
          "containerDisk",
          "persistentVolumeClaim",
          "dataVolume",
          "ephemeral",
          "emptyDisk",
          "hostDisk",
          "cloudInitNoCloud",
          "cloudInitConfigDrive");

  private final String namespace;
  private final Objects given;
  private final Map<String, KubeVirtVolume.Bytes> dataVolumes;

  /**
   * @param dataVolumes those that are made for the VM, by name; others are claims that are there
   */
  KubeVirtVolumes(String namespace, Objects given, Map<String, KubeVirtVolume.Bytes> dataVolumes) {
    this.namespace = namespace;
    this.given = given;
    this.dataVolumes = dataVolumes;
  }

  /** By name, with the fields that say so. */
  Map<String, Read> read(Fields spec) {
    var out = new LinkedHashMap<String, Read>();
    for (var fields : spec.mappings("volumes")) {
      var name = fields.requiredText("name", "rootdisk");
      var volume = volume(fields);
      fields.done();
      if (name == null || volume == null) {
        continue;
      }
      if (out.putIfAbsent(name, new Read(fields, volume)) != null) {
        fields.problem("name", "two volumes are named " + Fields.brief(name));
      }
    }
    return out;
  }

  record Read(Fields fields, KubeVirtVolume volume) {}

  private @Nullable KubeVirtVolume volume(Fields fields) {
    var kinds = fields.names().stream().filter(name -> !name.equals("name")).toList();
    if (kinds.size() != 1) {
      fields.problem(
          kinds.isEmpty()
              ? "says not what the volume is; give one of " + String.join(", ", KINDS)
              : "gives " + String.join(" and ", kinds) + "; a volume is one of them");
      kinds.forEach(fields::ignore);
      return null;
    }
    var kind = kinds.getFirst();
    if (!KINDS.contains(kind)) {
      fields.problem(
          kind,
          "Platter does not read this kind of volume; it reads "
              + String.join(", ", KINDS)
              + ". Files of ConfigMaps and Secrets come to a guest by a pod (docs/pods.md)");
      fields.ignore(kind);
      return null;
    }
    var volume = fields.requiredFields(kind);
    if (volume == null) {
      return null;
    }
    var read =
        switch (kind) {
          case "containerDisk" -> containerDisk(volume);
          case "persistentVolumeClaim" -> claim(volume, CopyMode.NONE);
          case "dataVolume" -> dataVolume(volume);
          case "ephemeral" -> ephemeral(volume);
          case "emptyDisk" -> emptyDisk(volume);
          case "hostDisk" -> hostDisk(volume);
          case "cloudInitNoCloud" -> seed(volume, CloudInit.Type.NOCLOUD);
          default -> seed(volume, CloudInit.Type.CONFIGDRIVE);
        };
    volume.done();
    return read;
  }

  /** Images have one disk in /disk, whatever it is called. */
  private static KubeVirtVolume.@Nullable Bytes containerDisk(Fields volume) {
    volume.ignore("imagePullPolicy", "imagePullSecret");
    var image = volume.requiredText("image", "quay.io/containerdisks/debian:12");
    var path = volume.text("path");
    if (path != null && !path.matches("/disk/[^/]+")) {
      volume.problem("path", "the disk of an image is a file in /disk; found '" + path + "'");
      return null;
    }
    return image == null
        ? null
        : new KubeVirtVolume.Bytes(
            new ImageSource(image), CopyMode.COPY_ON_WRITE, null, false, false);
  }

  private static KubeVirtVolume.@Nullable Bytes claim(Fields volume, CopyMode copy) {
    volume.ignore("hotpluggable");
    var name = volume.requiredText("claimName", "my-claim");
    var claim = name == null ? null : SourceReader.named(volume, "claimName", name);
    var readOnly = volume.flag("readOnly");
    return claim == null ? null : new KubeVirtVolume.Bytes(claim, copy, null, false, readOnly);
  }

  /** A claim that is only read; what the guest writes goes with the VM. */
  private static KubeVirtVolume.@Nullable Bytes ephemeral(Fields volume) {
    var fields = volume.requiredFields("persistentVolumeClaim");
    if (fields == null) {
      return null;
    }
    var claim = claim(fields, CopyMode.COPY_ON_WRITE);
    fields.done();
    return claim == null
        ? null
        : new KubeVirtVolume.Bytes(claim.source(), claim.copy(), null, false, false);
  }

  /** Either made for this VM, or a claim of the same name. */
  private KubeVirtVolume.@Nullable Bytes dataVolume(Fields volume) {
    volume.ignore("hotpluggable");
    var name = volume.requiredText("name", "my-claim");
    if (name == null) {
      return null;
    }
    var made = dataVolumes.get(name);
    if (made != null) {
      return made;
    }
    var claim = SourceReader.named(volume, "name", name);
    return claim == null ? null : KubeVirtVolume.Bytes.inPlace(claim, false);
  }

  private static KubeVirtVolume.@Nullable Bytes emptyDisk(Fields volume) {
    volume.requiredText("capacity", "2Gi");
    var size = volume.size("capacity");
    return size == null
        ? null
        : new KubeVirtVolume.Bytes(new BlankSource(), CopyMode.NONE, size, false, false);
  }

  private static KubeVirtVolume.@Nullable Bytes hostDisk(Fields volume) {
    volume.ignore("capacity", "shared");
    var path = Paths.absolute(volume, "path", "/var/lib/disks/data.img");
    var type = volume.requiredText("type", "Disk");
    if (type != null && !type.equals("Disk")) {
      volume.problem(
          "type",
          "Platter makes no files beside its own; make it ('truncate -s SIZE FILE') and write Disk");
      return null;
    }
    return path == null || type == null
        ? null
        : KubeVirtVolume.Bytes.inPlace(new FileSource(path, DiskFormat.RAW), false);
  }

  private KubeVirtVolume.@Nullable Seed seed(Fields volume, CloudInit.Type type) {
    var before = volume.problemCount();
    var user = text(volume, "userData", "secretRef", "userdata");
    var network = text(volume, "networkData", "networkDataSecretRef", "networkdata");
    var config = network == null ? null : network(volume, network.text());
    if (user == null && volume.problemCount() == before) {
      volume.problem("userData", "is missing, and so are userDataBase64 and secretRef");
    }
    if (user == null || volume.problemCount() > before) {
      return null;
    }
    return new KubeVirtVolume.Seed(
        new CloudInit(
            type,
            Map.of(),
            user.text(),
            Map.of(),
            config,
            List.of(),
            user.secret() || (network != null && network.secret())));
  }

  private record Text(String text, boolean secret) {}

  /** As it is written, in base64, or in a Secret. */
  private @Nullable Text text(Fields volume, String key, String reference, String secretKey) {
    var plain = volume.text(key);
    var encoded =
        volume.<String>parsed(
            key + "Base64", text -> new String(DataObjects.base64(text), StandardCharsets.UTF_8));
    var secret = volume.fields(reference);
    var written = plain == null ? encoded : plain;
    if (written != null) {
      return new Text(written, false);
    }
    if (secret == null) {
      return null;
    }
    var found =
        secret.<String>parsed(
            "name",
            name -> {
              var source = DataSource.parse(given, namespace, "secret", name);
              return source.requiredText(
                  source.required().containsKey(secretKey) ? secretKey : key);
            });
    secret.done();
    return found == null ? null : new Text(found, true);
  }

  private static @Nullable Map<String, Object> network(Fields volume, String text) {
    try {
      if (PlainValues.parse(text, true) instanceof Map<?, ?> map) {
        return PlainValues.cast(map);
      }
    } catch (PlatterException e) {
      // What the parser says may show some of the text, which may be of a Secret.
    }
    volume.problem("the network data is not a YAML mapping");
    return null;
  }
}
