package dev.platter.node;

import dev.platter.model.Uuids;
import dev.platter.node.container.ContainerRuntime;
import dev.platter.node.volumes.DrawnFiles;
import dev.platter.plan.StateLayout;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;

/**
 * @param layout where state lies
 * @param connect the libvirt to use; empty means Platter's own
 * @param registry the registry of references that name none
 * @param daemon the command that runs the daemon in the foreground; if empty, images are fetched in
 *     full before a VM starts
 * @param file what the machine's owner configured; none if empty
 * @param containerd the socket of the containerd that makes volumes for new VMs
 * @param rawDevices the block devices that VMs may name
 * @param imageMaps files, and directories of files, that say where images with short names come
 *     from
 * @param drawn what this machine's driver of volumes and VMs have in common; none if empty
 */
public record NodeConfig(
    StateLayout layout,
    Optional<String> connect,
    Optional<String> registry,
    List<String> daemon,
    Optional<Path> file,
    Path containerd,
    RawDevices rawDevices,
    List<Path> imageMaps,
    Optional<DrawnFiles> drawn) {
  /** What the kernel takes as the path of a socket. */
  private static final int LONGEST_SOCKET = 107;

  /**
   * What comes behind the run directory in the path of a console's socket, and of libvirt's longest
   * in session mode.
   */
  private static final int OURS = 54;

  private static final int LIBVIRTS = 74;

  private static final UUID RUN_DIRECTORIES =
      UUID.fromString("4a8f3a0e-98a4-4b1c-8f0b-0d7d4b7f2a11");

  /** With the usual raw devices, and without image maps. */
  public NodeConfig(
      StateLayout layout,
      Optional<String> connect,
      Optional<String> registry,
      List<String> daemon,
      Optional<Path> file,
      Path containerd) {
    this(
        layout,
        connect,
        registry,
        daemon,
        file,
        containerd,
        RawDevices.DEFAULT,
        List.of(),
        Optional.empty());
  }

  NodeConfig withImageMaps(List<Path> maps) {
    return new NodeConfig(
        layout, connect, registry, daemon, file, containerd, rawDevices, maps, drawn);
  }

  NodeConfig withRawDevices(RawDevices devices) {
    return new NodeConfig(
        layout, connect, registry, daemon, file, containerd, devices, imageMaps, drawn);
  }

  public NodeConfig withDrawn(DrawnFiles files) {
    return new NodeConfig(
        layout,
        connect,
        registry,
        daemon,
        file,
        containerd,
        rawDevices,
        imageMaps,
        Optional.of(files));
  }

  /** With containerd where it usually is. */
  public NodeConfig(
      StateLayout layout,
      Optional<String> connect,
      Optional<String> registry,
      List<String> daemon,
      Optional<Path> file) {
    this(layout, connect, registry, daemon, file, ContainerRuntime.DEFAULT_SOCKET);
  }

  /** Without a configuration file. */
  public NodeConfig(
      StateLayout layout,
      Optional<String> connect,
      Optional<String> registry,
      List<String> daemon) {
    this(layout, connect, registry, daemon, Optional.empty());
  }

  /** Without a daemon and a configuration file. */
  public NodeConfig(StateLayout layout, Optional<String> connect, Optional<String> registry) {
    this(layout, connect, registry, List.of());
  }

  /**
   * Root keeps state in the system's directories, everybody else in their own. Sockets have short
   * paths, so where the state directory's is too long they lie elsewhere: in a directory that
   * follows from the user and the state directory alone, and not from how they logged in, since two
   * commands must find the same.
   *
   * @param state overrides the state directory
   */
  public static StateLayout layout(Optional<Path> state, Map<String, String> environment) {
    var uid = uid();
    var root = uid.equals("0");
    if (state.isEmpty() && root) {
      return new StateLayout(Path.of("/var/lib/platter"), Path.of("/run/platter"));
    }
    var directory = state.orElseGet(() -> userState(environment)).toAbsolutePath().normalize();
    var run = directory.resolve("run");
    if (run.toString().getBytes(StandardCharsets.UTF_8).length
        > LONGEST_SOCKET - (root ? OURS : LIBVIRTS)) {
      var base = root ? Path.of("/run/platter") : Path.of("/tmp", "platter-" + uid);
      run =
          base.resolve(
              Uuids.version5(RUN_DIRECTORIES, directory.toString()).toString().substring(0, 8));
    }
    return new StateLayout(directory, run);
  }

  /**
   * The configuration file, if there is one in the usual place: the system's for root, their own
   * for everybody else.
   */
  public static Optional<Path> usualFile(Map<String, String> environment) {
    return Optional.of(usualDirectory(environment).resolve("node.yaml")).filter(Files::exists);
  }

  /** The directory of image maps, if there is one beside the usual configuration file. */
  public static Optional<Path> usualImageMaps(Map<String, String> environment) {
    return Optional.of(usualDirectory(environment).resolve("images.d")).filter(Files::isDirectory);
  }

  private static Path usualDirectory(Map<String, String> environment) {
    var parent = uid().equals("0") ? Path.of("/etc") : userConfiguration(environment);
    return parent.resolve("platter");
  }

  private static Path userConfiguration(Map<String, String> environment) {
    var given = environment.get("XDG_CONFIG_HOME");
    return given == null || given.isEmpty()
        ? Path.of(environment.getOrDefault("HOME", "/"), ".config")
        : Path.of(given);
  }

  private static Path userState(Map<String, String> environment) {
    var given = environment.get("XDG_STATE_HOME");
    return given == null || given.isEmpty()
        ? Path.of(environment.getOrDefault("HOME", "/"), ".local", "state", "platter")
        : Path.of(given, "platter");
  }

  private static String uid() {
    try {
      return Files.getAttribute(Path.of("/proc/self"), "unix:uid").toString();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
