package dev.platter.dialect;

import dev.platter.dialect.PodVolumes.ClaimDisk;
import dev.platter.dialect.PodVolumes.FileVolume;
import dev.platter.dialect.PodVolumes.FlexDisk;
import dev.platter.dialect.PodVolumes.PodVolume;
import dev.platter.model.CloudInit;
import dev.platter.model.DeviceLink;
import dev.platter.model.GuestFile;
import dev.platter.model.Mount;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.SortedMap;
import org.jspecify.annotations.Nullable;

/**
 * Reads where a container wants its volumes: {@code volumeMounts} and {@code volumeDevices}. Each
 * path is given to the guest once.
 */
final class PodMounts {
  private static final String ACCOUNT = "/var/run/secrets/kubernetes.io/serviceaccount";
  private static final long MOST_BYTES = 16L << 20;

  private final Fields container;
  private final Map<String, PodVolume> volumes;
  private final Set<String> named;
  private final boolean possible;
  private final List<Mount> mounts = new ArrayList<>();
  private final List<DeviceLink> links = new ArrayList<>();
  private final List<String> devices = new ArrayList<>();
  private final Map<String, GuestFile> files = new LinkedHashMap<>();
  private final Set<String> taken = new HashSet<>();
  private boolean tokenMounted;
  private long bytes;

  /**
   * @param named the names of all volumes, also of those that are no good
   * @param possible whether the guest is told of mounts and files at all
   */
  PodMounts(Fields container, Map<String, PodVolume> volumes, Set<String> named, boolean possible) {
    this.container = container;
    this.volumes = volumes;
    this.named = named;
    this.possible = possible;
  }

  /** What is mounted below another comes behind it. */
  List<Mount> mounts() {
    return mounts.stream().sorted(Comparator.comparing(Mount::path)).toList();
  }

  List<DeviceLink> links() {
    return links;
  }

  /** The volumes that the container names as devices, in its order. */
  List<String> devices() {
    return devices;
  }

  List<GuestFile> files() {
    return List.copyOf(files.values());
  }

  void read() {
    container.mappings("volumeDevices").forEach(this::device);
    container.mappings("volumeMounts").forEach(this::mount);
  }

  /** Reports mounts and files that the guest would not be told of. */
  void done() {
    if (!possible && !(mounts.isEmpty() && files.isEmpty() && links.isEmpty())) {
      container.problem(
          "the user-data is a script, so the guest is not told of mounts, files and variables; put "
              + CloudInit.MOUNT_SCRIPT
              + " into the script where they are wanted");
    }
  }

  private void device(Fields device) {
    var name = name(device);
    device.requiredText("devicePath", "/dev/data");
    var path = device.<String>parsed("devicePath", PodMounts::devicePath);
    device.done();
    if (name == null || path == null) {
      return;
    }
    if (volumes.get(name) != null && !(volumes.get(name) instanceof ClaimDisk)) {
      device.problem("name", name + " is not a persistentVolumeClaim; only these are devices");
    } else if (devices.contains(name)) {
      device.problem("name", name + " is named twice");
    } else {
      devices.add(name);
      links.add(new DeviceLink(PodDisks.nameOf(name), path));
    }
  }

  private static String devicePath(String path) {
    if (path.equals("/")) {
      throw new IllegalArgumentException(
          "a claim cannot be the root disk here; identities of a cluster have persistent roots");
    }
    GuestPaths.checkMountPoint(path);
    return path;
  }

  private void mount(Fields mount) {
    var name = name(mount);
    mount.requiredText("mountPath", "/data");
    var path =
        mount.<String>parsed(
            "mountPath",
            text -> {
              GuestPaths.check(text);
              var plain = text.length() > 1 ? text.replaceFirst("/$", "") : text;
              if (!taken.add(plain)) {
                throw new IllegalArgumentException("something else is mounted there");
              }
              return plain;
            });
    var readOnly = mount.flag("readOnly");
    var subPath = mount.text("subPath");
    mount.ignore("mountPropagation", "recursiveReadOnly");
    mount.done();
    if (name == null || path == null) {
      return;
    }
    switch (volumes.get(name)) {
      case null -> {}
      case FileVolume volume -> files(mount, volume, path, subPath);
      case FlexDisk disk -> {
        var only = readOnly || disk.found().readOnly();
        disk(mount, name, disk.found().partition(), path, only, subPath);
      }
      case ClaimDisk disk ->
          disk(mount, name, disk.partition(), path, readOnly || disk.readOnly(), subPath);
    }
  }

  private void disk(
      Fields mount,
      String name,
      @Nullable Integer partition,
      String path,
      boolean readOnly,
      @Nullable String subPath) {
    if (subPath != null && !subPath.isEmpty()) {
      mount.problem("subPath", "only files have one; a disk is mounted as a whole");
    }
    mount.parsed(
        "mountPath",
        text -> {
          GuestPaths.checkMountPoint(text);
          return true;
        });
    mounts.add(new Mount(PodDisks.nameOf(name), partition == null ? 1 : partition, path, readOnly));
  }

  private void files(Fields mount, FileVolume volume, String path, @Nullable String subPath) {
    if (subPath == null || subPath.isEmpty()) {
      tokenMounted |= path.equals(ACCOUNT);
      if (path.equals(ACCOUNT) && !possible) {
        return; // A cluster adds this one to every pod; nobody asked for it.
      }
      volume.files().forEach((file, entry) -> file(GuestPaths.join(path, file), entry));
      return;
    }
    var whole = volume.files().get(subPath);
    var below = subPath.replaceAll("/$", "") + "/";
    if (whole != null) {
      file(path, whole);
    } else if (volume.files().keySet().stream().anyMatch(file -> file.startsWith(below))) {
      volume
          .files()
          .forEach(
              (file, entry) -> {
                if (file.startsWith(below)) {
                  file(GuestPaths.join(path, file.substring(below.length())), entry);
                }
              });
    } else if (!volume.optional()) {
      mount.problem("subPath", "the volume has no file '" + Fields.brief(subPath) + "'");
    }
  }

  private @Nullable String name(Fields fields) {
    var name = fields.requiredText("name", "data");
    if (name != null && !named.contains(name)) {
      fields.problem(
          "name",
          "there is no volume '"
              + Fields.brief(name)
              + "' in this pod"
              + Suggestion.among(name, named));
    }
    return name;
  }

  private void file(String path, PodFiles.Entry entry) {
    file(new GuestFile(path, entry.mode(), entry.content()));
  }

  void file(GuestFile file) {
    bytes += file.content().bytes().length;
    if (bytes > MOST_BYTES) {
      container.problem("volumeMounts", "more than 16 MiB of files; put them onto a disk");
      return;
    }
    files.put(file.path(), file);
  }

  /** What every container has, unless it mounts something of its own there. */
  void account(SortedMap<String, PodFiles.Entry> entries) {
    if (!tokenMounted && possible) {
      entries.forEach((file, entry) -> file(GuestPaths.join(ACCOUNT, file), entry));
    }
  }
}
