package dev.platter.cli;

import dev.platter.model.IdentityKey;
import dev.platter.node.LocalNode;
import dev.platter.node.Node;
import dev.platter.node.NodeConfig;
import dev.platter.node.Progress;
import dev.platter.node.RawDevices;
import dev.platter.node.container.ContainerRuntime;
import dev.platter.plan.VmKey;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** Options of every command that works on this machine's VMs. */
final class NodeOptions {
  @Option(
      names = "--state",
      paramLabel = "DIR",
      description =
          "Keep all state in DIR (default: /var/lib/platter for root, else below your home; $PLATTER_STATE).")
  @Nullable Path state;

  @Option(
      names = "--config",
      paramLabel = "FILE",
      description =
          "Configuration of this machine: its pools (default: /etc/platter/node.yaml for root, else"
              + " ~/.config/platter/node.yaml; $PLATTER_CONFIG).")
  @Nullable Path config;

  @Option(
      names = "--connect",
      paramLabel = "URI",
      description = "Use this libvirt instead of Platter's own ($PLATTER_CONNECT).")
  @Nullable String connect;

  @Option(
      names = "--containerd",
      paramLabel = "SOCKET",
      description =
          "The containerd that runs containers which make volumes (default:"
              + " /run/containerd/containerd.sock; $PLATTER_CONTAINERD).")
  @Nullable Path containerd;

  @Option(
      names = "--raw-devices",
      paramLabel = "PATTERNS",
      description =
          "The block devices that VMs may name: patterns relative to /dev, with commas between them (default:"
              + " loop*; $VIRTLET_RAW_DEVICES).")
  @Nullable String rawDevices;

  @Mixin RegistryOption registry = new RegistryOption();

  @Option(
      names = "--image-map",
      paramLabel = "PATH",
      split = ",",
      description =
          "Files, or directories of *.yaml files, that say where images with short names come from"
              + " (default: /etc/platter/images.d for root, else ~/.config/platter/images.d;"
              + " $PLATTER_IMAGE_MAP).")
  @Nullable List<Path> imageMaps;

  @Option(
      names = {"-n", "--namespace"},
      paramLabel = "NAME",
      description = "The VM's namespace (default: default).",
      defaultValue = "default",
      showDefaultValue = picocli.CommandLine.Help.Visibility.NEVER)
  String namespace = "default";

  /** The VM of this name in the namespace asked for. */
  VmKey vm(@Nullable String name) {
    return new VmKey(namespace, String.valueOf(name));
  }

  /** The identity of this name in the namespace asked for. */
  IdentityKey identity(@Nullable String name) {
    return new IdentityKey(namespace, String.valueOf(name));
  }

  NodeConfig config() {
    return config(given(state, "PLATTER_STATE"), given(connect, "PLATTER_CONNECT"), true);
  }

  /** The same for who runs no VM, and so starts no daemon. */
  NodeConfig configWithoutDaemon() {
    return config(given(state, "PLATTER_STATE"), given(connect, "PLATTER_CONNECT"), false);
  }

  /** The same for another state directory, which has a libvirt of its own if none is given. */
  NodeConfig config(Path otherState, @Nullable String otherConnect) {
    return config(Optional.of(otherState.toString()), Optional.ofNullable(otherConnect), true);
  }

  private NodeConfig config(Optional<String> where, Optional<String> libvirt, boolean daemon) {
    var environment = System.getenv();
    var directory = where.map(text -> Path.of(text).toAbsolutePath());
    var layout = NodeConfig.layout(directory, environment);
    var host = registry.host(environment);
    var file = given(config, "PLATTER_CONFIG").map(text -> Path.of(text).toAbsolutePath());
    return new NodeConfig(
        layout,
        libvirt,
        host,
        daemon ? DaemonProgram.command(directory, libvirt, host, file) : List.of(),
        file.or(() -> NodeConfig.usualFile(environment)),
        given(containerd, "PLATTER_CONTAINERD")
            .map(text -> Path.of(text).toAbsolutePath())
            .orElse(ContainerRuntime.DEFAULT_SOCKET),
        given(rawDevices, "VIRTLET_RAW_DEVICES").map(RawDevices::parse).orElse(RawDevices.DEFAULT),
        imageMaps(environment),
        Optional.empty());
  }

  private List<Path> imageMaps(Map<String, String> environment) {
    if (imageMaps != null) {
      return imageMaps.stream().map(Path::toAbsolutePath).toList();
    }
    var given = environment.getOrDefault("PLATTER_IMAGE_MAP", "");
    return given.isEmpty()
        ? NodeConfig.usualImageMaps(environment).stream().toList()
        : Stream.of(given.split(",")).map(path -> Path.of(path).toAbsolutePath()).toList();
  }

  private static Optional<String> given(@Nullable Object option, String variable) {
    return Optional.ofNullable(option)
        .map(Object::toString)
        .or(() -> Optional.ofNullable(System.getenv(variable)));
  }

  Node open(Progress progress) {
    return LocalNode.open(config(), progress);
  }
}
