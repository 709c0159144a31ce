package dev.platter.cluster.node;

import dev.platter.cluster.api.Names;
import dev.platter.cluster.csi.PodSockets;
import dev.platter.cluster.csi.PodVolume;
import dev.platter.image.raw.PinnedFile;
import dev.platter.model.PlatterException;
import java.io.IOException;
import java.nio.channels.SocketChannel;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayDeque;
import java.util.HashMap;
import java.util.Map;
import java.util.Objects;
import java.util.regex.Pattern;

/**
 * The directories that launcher pods have mounted, each with one socket that the daemon listens on.
 * Whoever connects to a pod's socket is in that pod: that is all the authentication there is.
 *
 * <p>Kubelet mounts the directories read-only into pods, but nothing here relies on it. Each name
 * below kubelet's root is opened by itself without following a link and held while the next one is
 * looked up in it, so what a pod puts in the way of a name is refused or unlinked, never followed.
 * The one call that would follow a link, chmod(2), is made on the held socket.
 *
 * <p>The same way makes the socket's path short: kubelet's own are longer than the 107 bytes that
 * bind(2) takes.
 *
 * <p>The directories outlive the daemon. Its next start finds them by {@link #restore} and replaces
 * the dead sockets; pods see the new ones, since they have mounted the directory.
 */
public final class PodDirectory implements PodSockets, AutoCloseable {
  /** What becomes of connections. */
  @FunctionalInterface
  public interface Connections {
    /**
     * Serves a connection on a thread of its own; the channel is closed when this returns. It is
     * closed under it when the pod connects anew or its volume goes.
     */
    void accepted(String podUid, SocketChannel channel) throws IOException;
  }

  private static final Pattern UID = Pattern.compile("[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}");

  private final Path kubeletRoot;
  private final Connections connections;
  private final Map<String, PodListener> listeners = new HashMap<>();

  /**
   * @param kubeletRoot as kubelet itself writes it
   * @param connections is told of each connection of a pod
   */
  public PodDirectory(Path kubeletRoot, Connections connections) {
    this.kubeletRoot = kubeletRoot;
    this.connections = connections;
  }

  @Override
  public synchronized void publish(PodVolume volume) throws IOException {
    var name = volume.target().getName(volume.target().getNameCount() - 2).toString();
    if (!name.equals(Names.SOCKET_VOLUME)) {
      throw PlatterException.of(
          PlatterException.Code.INVALID,
          "the volume " + name + " of driver " + Names.CSI_DRIVER + " is not ours",
          "leave it out: Platter adds the volume " + Names.SOCKET_VOLUME + " to pods that need it");
    }
    try (var parent = descend(parent(volume.target()))) {
      var mount = parent.path().resolve("mount");
      try {
        Files.createDirectory(mount);
      } catch (FileAlreadyExistsException e) {
        // Kubelet asks again after each failure and after its restart.
      }
      try (var directory = directory(mount)) {
        Files.setPosixFilePermissions(
            directory.path(), PosixFilePermissions.fromString("rwxr-xr-x"));
        listen(volume.podUid(), directory);
      }
    }
  }

  /**
   * Listens again for a pod that an earlier daemon listened for.
   *
   * @return false if kubelet has no such volume of the pod
   */
  public synchronized boolean restore(String podUid) throws IOException {
    if (!UID.matcher(podUid).matches()) {
      throw PlatterException.of(
          PlatterException.Code.INVALID, "\"" + podUid + "\" is not the UID of a pod", "");
    }
    var target =
        kubeletRoot.resolve(
            Path.of("pods", podUid, "volumes", "kubernetes.io~csi", Names.SOCKET_VOLUME, "mount"));
    try (var directory = descend(target)) {
      listen(podUid, directory);
      return true;
    } catch (NoSuchFileException e) {
      return false;
    }
  }

  private void listen(String podUid, PinnedFile directory) throws IOException {
    var present = listeners.get(podUid);
    if (present != null) {
      if (present.isIn(directory)) {
        return;
      }
      listeners.remove(podUid);
      present.close();
    }
    listeners.put(podUid, PodListener.start(podUid, directory, connections));
  }

  @Override
  public synchronized void unpublish(String volumeId, Path target) throws IOException {
    var podUid = podUid(target);
    var ours = target.endsWith(Path.of(Names.SOCKET_VOLUME, "mount"));
    var listener = ours ? listeners.remove(podUid) : null;
    if (listener != null) {
      listener.close();
    }
    try (var parent = descend(parent(target))) {
      var mount = parent.path().resolve("mount");
      try (var directory = directory(mount)) {
        refuseOthers(directory, target);
        Files.deleteIfExists(directory.path().resolve(Names.SOCKET));
      }
      Files.deleteIfExists(mount);
    } catch (NoSuchFileException e) {
      // An earlier call did it, or the volume was never published.
    }
  }

  private static void refuseOthers(PinnedFile directory, Path target) throws IOException {
    try (var entries = Files.newDirectoryStream(directory.path())) {
      for (var entry : entries) {
        if (!entry.getFileName().toString().equals(Names.SOCKET)) {
          throw PlatterException.of(
              PlatterException.Code.CONFLICT,
              target + " holds \"" + entry.getFileName() + "\", which Platter did not put there",
              "see what it is and remove it");
        }
      }
    }
  }

  /** Of the pod whose volume is mounted there. */
  static String podUid(Path target) {
    return target.getName(target.getNameCount() - 5).toString();
  }

  private static Path parent(Path target) {
    return Objects.requireNonNull(target.getParent());
  }

  /** Holds a directory below kubelet's root, having followed no link below it. */
  private PinnedFile descend(Path target) throws IOException {
    // Kubelet's root itself is the administrator's, and may well be a link.
    var held = new ArrayDeque<PinnedFile>();
    held.push(directory(kubeletRoot.toRealPath()));
    try {
      for (var name : kubeletRoot.relativize(target)) {
        held.push(directory(held.element().path().resolve(name)));
        held.removeLast().close();
      }
      return held.pop();
    } finally {
      held.forEach(PinnedFile::close);
    }
  }

  private static PinnedFile directory(Path path) throws IOException {
    var pinned = PinnedFile.open(path);
    if (!pinned.isDirectory()) {
      pinned.close();
      throw PlatterException.of(
          PlatterException.Code.REFUSED,
          "\""
              + path.getFileName()
              + "\" in a pod's directory is "
              + pinned.kind()
              + ", not a directory",
          "see who made it and remove it");
    }
    return pinned;
  }

  /** Stops listening; the sockets stay for the next daemon to replace. */
  @Override
  public synchronized void close() throws IOException {
    for (var listener : listeners.values()) {
      listener.close();
    }
    listeners.clear();
  }
}
