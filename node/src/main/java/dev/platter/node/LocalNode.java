package dev.platter.node;

import dev.platter.image.BootTrace;
import dev.platter.model.PlatterException;
import dev.platter.model.PlatterException.Code;
import dev.platter.node.image.ContainerImages;
import dev.platter.node.image.DaemonLauncher;
import dev.platter.node.image.ImageClient;
import dev.platter.node.image.ImageRecord;
import dev.platter.node.image.ImageSources;
import dev.platter.node.image.Images;
import dev.platter.node.image.LayerMaker;
import dev.platter.node.image.LayerProcess;
import dev.platter.node.image.LocalImages;
import dev.platter.node.image.TraceReferrer;
import dev.platter.plan.StateLayout;
import dev.platter.registry.Registries;
import dev.platter.registry.RegistrySettings;
import java.io.IOException;
import java.nio.file.Files;
import java.util.Map;
import java.util.Optional;
import java.util.function.UnaryOperator;

/** Puts a node together from the parts of this machine. */
public final class LocalNode {
  private LocalNode() {}

  public static Node open(NodeConfig config, Progress progress) {
    return open(config, Placement.NONE, progress);
  }

  /** With VMs whose processes are put where the caller wants them. */
  public static Node open(NodeConfig config, Placement placement, Progress progress) {
    return open(
        config, placement, new LocalDeviceRecords(config.layout()), Whereabouts.NONE, progress);
  }

  /** With records of devices, and of where VMs are, that are the caller's. */
  public static Node open(
      NodeConfig config,
      Placement placement,
      DeviceRecords records,
      Whereabouts whereabouts,
      Progress progress) {
    return open(
        config,
        new LocalMachine(config.layout(), config.connect(), config.containerd(), placement),
        placement.equals(Placement.NONE) ? LayerMaker.HERE : new LayerProcess(),
        records,
        whereabouts,
        progress);
  }

  static Node open(NodeConfig config, Machine machine, Progress progress) {
    return open(
        config,
        machine,
        LayerMaker.HERE,
        new LocalDeviceRecords(config.layout()),
        Whereabouts.NONE,
        progress);
  }

  private static Node open(
      NodeConfig config,
      Machine machine,
      LayerMaker layers,
      DeviceRecords records,
      Whereabouts whereabouts,
      Progress progress) {
    return new Node(
        config.layout(),
        machine,
        images(config),
        new ContainerImages(config.layout(), sources(config), layers),
        new Pools(config.layout(), config.file()),
        config.rawDevices(),
        config.drawn(),
        records,
        whereabouts,
        progress);
  }

  /**
   * The node of another state directory, for who has to see what became of a VM there. It fetches
   * no image, so it needs no daemon.
   *
   * @param libvirt which it uses; empty is Platter's own
   */
  static Node peer(StateLayout layout, String libvirt) {
    var connect = Optional.of(libvirt).filter(uri -> !uri.isEmpty());
    return open(new NodeConfig(layout, connect, Optional.empty()), Progress.NONE);
  }

  private static Images images(NodeConfig config) {
    var layout = config.layout();
    return config.daemon().isEmpty()
        ? new LocalImages(
            layout, sources(config), new VmImages(layout, VmSecrets.NONE, config.drawn()))
        : new ImageClient(layout, sources(config), new DaemonLauncher(layout, config.daemon()));
  }

  /** Where images come from on this machine. */
  public static ImageSources sources(NodeConfig config) {
    return new MappedSources(config, System.getenv(), UnaryOperator.identity());
  }

  /**
   * The same for who imports one, with logins and settings of registries that are theirs: no answer
   * leads nearer to this machine than who was asked.
   */
  public static ImageSources imports(NodeConfig config, Map<String, String> environment) {
    return new MappedSources(config, environment, RegistrySettings::leadingNoNearer);
  }

  /**
   * Publishes the boot trace of an image beside it in its registry, and returns the digest of what
   * was published.
   */
  public static String publishTrace(NodeConfig config, ImageRecord image) throws IOException {
    if (MappedSources.isUrl(image.reference())
        || !(ImageName.parse(image.reference(), config.registry())
            instanceof ImageName.InRegistry name)) {
      throw PlatterException.of(
          Code.INVALID,
          image.reference() + " is not in a registry",
          "Push its disk with 'platter push --boot-trace FILE' instead.");
    }
    var layout = config.layout();
    var push = Registries.fromEnvironment(System.getenv()).push(name.reference());
    var manifest = Files.readAllBytes(layout.manifest(image.digest()));
    return TraceReferrer.publish(push, manifest, BootTrace.read(layout.bootTrace(image.digest())))
        .toString();
  }
}
