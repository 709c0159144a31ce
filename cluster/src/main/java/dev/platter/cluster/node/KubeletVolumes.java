package dev.platter.cluster.node;

import dev.platter.model.GuestFile;
import dev.platter.model.PlatterException;
import dev.platter.model.PlatterException.Code;
import dev.platter.node.durable.Durable;
import dev.platter.node.kubelet.FileVolume;
import io.fabric8.kubernetes.api.model.Volume;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Optional;
import java.util.SortedMap;
import java.util.TreeMap;

/**
 * Where a kubelet has put the volumes of one pod:
 *
 * <pre>
 * ROOT/pods/UID/volumes/PLUGIN/NAME         files, and mounts of most plugins
 * ROOT/pods/UID/volumes/kubernetes.io~csi/PV/mount
 * ROOT/pods/UID/volumeDevices/PLUGIN/PV     a link to a block device
 * </pre>
 *
 * The directories themselves are the kubelet's, and nobody else writes there; what is below a mount
 * is a tenant's, and is not looked at here.
 */
final class KubeletVolumes {
  private static final String CSI = "kubernetes.io~csi";

  private final Path pod;

  KubeletVolumes(Path kubeletRoot, String podUid) {
    if (!podUid.matches("[0-9A-Za-z-]{1,64}")) {
      throw new IllegalArgumentException("not the UID of a pod: " + podUid);
    }
    this.pod = kubeletRoot.resolve("pods").resolve(podUid);
  }

  /**
   * The files of a ConfigMap's, a Secret's, a projected or a downward volume.
   *
   * @param plugin such as {@code configmap}
   */
  SortedMap<String, GuestFile> files(String plugin, String volume) throws IOException {
    var directory = files(plugin).resolve(volume);
    var out = new TreeMap<String, GuestFile>();
    FileVolume.read(directory)
        .forEach(
            (path, entry) ->
                out.put(
                    path,
                    new GuestFile(path, entry.mode(), new GuestFile.Content(entry.content()))));
    return out;
  }

  /** The plugin whose volumes are files that the kubelet writes; empty if it is another's. */
  static Optional<String> filePlugin(Volume volume) {
    if (volume.getSecret() != null) {
      return Optional.of("secret");
    }
    if (volume.getConfigMap() != null) {
      return Optional.of("configmap");
    }
    if (volume.getProjected() != null) {
      return Optional.of("projected");
    }
    return volume.getDownwardAPI() == null ? Optional.empty() : Optional.of("downward-api");
  }

  /** Whether all files of such a volume are there. */
  boolean hasFiles(String plugin, String volume) {
    return FileVolume.isWhole(files(plugin).resolve(volume));
  }

  private Path files(String plugin) {
    return pod.resolve("volumes").resolve("kubernetes.io~" + plugin);
  }

  /** Where the file system of a volume is mounted. */
  Path fileSystem(String volume) throws IOException {
    var found = find(pod.resolve("volumes"), volume);
    return CSI.equals(String.valueOf(Durable.parent(found).getFileName()))
        ? found.resolve("mount")
        : found;
  }

  /** The device of a block volume. */
  Path device(String volume) throws IOException {
    var found = find(pod.resolve("volumeDevices"), volume);
    return found.toRealPath();
  }

  private static Path find(Path plugins, String volume) throws IOException {
    if (volume.isEmpty() || volume.contains("/") || volume.startsWith(".")) {
      throw new IllegalArgumentException("not the name of a volume: " + volume);
    }
    var found = new ArrayList<Path>();
    try (var entries = Files.newDirectoryStream(plugins)) {
      for (var plugin : entries) {
        var path = plugin.resolve(volume);
        if (Files.exists(path, LinkOption.NOFOLLOW_LINKS)) {
          found.add(path);
        }
      }
    } catch (NoSuchFileException e) {
      // No plugin has a volume of this pod.
    }
    if (found.size() != 1) {
      throw PlatterException.of(
          Code.UNAVAILABLE,
          "the kubelet has %s the volume %s"
              .formatted(found.isEmpty() ? "not mounted" : "mounted more than once", volume),
          "'kubectl describe pod' says what it is waiting for.");
    }
    return found.getFirst();
  }
}
