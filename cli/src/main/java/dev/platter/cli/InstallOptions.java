package dev.platter.cli;

import dev.platter.cluster.install.Install;
import dev.platter.cluster.install.VolumesInstall;
import dev.platter.model.ByteSize;
import java.util.List;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Option;

/** What can be chosen of an installation on a cluster. */
final class InstallOptions {
  @Option(
      names = {"-n", "--namespace"},
      paramLabel = "NAME",
      description = "The namespace of Platter itself (default: platter-system).")
  String namespace = "platter-system";

  @Option(
      names = "--image",
      paramLabel = "IMAGE",
      description = "Platter's container image (default: platter.dev/platter of this version).")
  @Nullable String image;

  @Option(
      names = "--pull-policy",
      paramLabel = "POLICY",
      description =
          "IfNotPresent, Always or Never, for this image and the sidecars of --volumes (default:"
              + " IfNotPresent).")
  String pullPolicy = "IfNotPresent";

  @Option(
      names = "--pull-secret",
      paramLabel = "SECRET",
      description =
          "A Secret of that namespace with a login for the registry of the image, or of the"
              + " sidecars; can be repeated."
              + " Launcher pods are in other namespaces and pull the image with secrets there.")
  List<String> pullSecrets = List.of();

  @Option(
      names = "--pool",
      paramLabel = "TYPE=DIR[:LIMIT]",
      description =
          "A pool for disks of this usage type, in a directory that each node has or is given; can"
              + " be repeated.")
  List<String> pools = List.of();

  @Option(
      names = "--raw-devices",
      paramLabel = "PATTERNS",
      description =
          "The block devices of nodes that VMs may name: patterns relative to /dev, with commas"
              + " between them (default: mapper/platter-*, which an administrator makes).")
  String rawDevices = "mapper/platter-*";

  @Option(
      names = "--image-limit",
      paramLabel = "SIZE",
      description =
          "Have each node keep its images below this size by removing unused ones, the longest"
              + " unused first (default: none; unused images stay).")
  @Nullable String imageLimit;

  @Option(
      names = "--image-rate",
      paramLabel = "SIZE",
      description =
          "Have each node fetch no more than this a second in the background (default: no limit).")
  @Nullable String imageRate;

  @Option(
      names = "--kubelet-root",
      paramLabel = "DIR",
      description = "The kubelet's directory on the nodes (default: /var/lib/kubelet).")
  String kubeletRoot = "/var/lib/kubelet";

  @Option(
      names = "--service-monitor",
      description = "Tell the Prometheus operator where Platter's metrics are.")
  boolean serviceMonitor;

  @Option(
      names = "--cdi",
      description =
          "Also what CDI's users know: DataVolumes, and what answers virtctl image-upload, which is"
              + " CDI's API for upload tokens, and a proxy."
              + " Not for a cluster that has CDI, whose kinds and API these are.")
  boolean cdi;

  @Option(
      names = "--volumes",
      paramLabel = "DIR[:LIMIT]",
      description =
          "Also the storage class platter-local, with volumes in this directory of every node.")
  @Nullable String volumes;

  @Option(
      names = "--sidecars",
      paramLabel = "PREFIX",
      description =
          "Where the images of csi-provisioner, csi-snapshotter and csi-resizer are, for --volumes"
              + " (default: "
              + VolumesInstall.DEFAULT_SIDECARS
              + ").")
  String sidecars = VolumesInstall.DEFAULT_SIDECARS;

  String yaml() {
    var options =
        new Install.Options(
            namespace,
            image == null ? usualImage() : image,
            pullPolicy,
            pools.stream().map(Install.PoolOption::parse).toList(),
            rawDevices,
            new Install.ImageBounds(size(imageLimit), size(imageRate)),
            pullSecrets,
            kubeletRoot,
            serviceMonitor,
            cdi);
    var yaml = Install.yaml(options);
    return volumes == null
        ? yaml
        : yaml + "---\n" + VolumesInstall.yaml(options, volumes, sidecars);
  }

  private static @Nullable ByteSize size(@Nullable String text) {
    return text == null ? null : ByteSize.parse(text);
  }

  private static String usualImage() {
    return "platter.dev/platter:" + VersionCommand.tag();
  }
}
