package dev.platter.cluster.csi;

import csi.v1.CapacityRange;
import csi.v1.Topology;
import csi.v1.TopologyRequirement;
import csi.v1.VolumeCapability;
import dev.platter.cluster.api.Names;
import dev.platter.model.PlatterException;
import dev.platter.model.PlatterException.Code;
import dev.platter.node.volumes.Use;
import dev.platter.node.volumes.VolumeStore;
import io.grpc.Status;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * Checks what kubelet and sidecars ask for; behind this nobody checks again. Paths are worked on as
 * root: they must be where kubelet keeps volumes, and no link may lead elsewhere.
 */
final class VolumeRequests {
  static final String TOPOLOGY = Names.VOLUME_DRIVER + "/node";

  private static final long DEFAULT_SIZE = 1L << 30;
  private static final int LONGEST_NAME = 128;
  private static final String DEFAULT_FILE_SYSTEM = "ext4";
  private static final Pattern OPTION = Pattern.compile("[A-Za-z0-9_.:=/-]{1,128}");
  private static final int MOST_OPTIONS = 32;

  /** Where kubelet wants the device of a volume for a pod, below its root. */
  private static final Pattern DEVICE =
      Pattern.compile(
          "plugins/kubernetes\\.io/csi/volumeDevices/publish/[^/]+/(?<pod>[0-9A-Za-z-]{1,64})");

  private final Path kubeletRoot;
  private final String node;

  VolumeRequests(Path kubeletRoot, String node) {
    this.kubeletRoot = kubeletRoot;
    this.node = node;
  }

  static String name(String name) {
    if (name.isEmpty() || name.length() > LONGEST_NAME) {
      throw invalid("a name has 1 to " + LONGEST_NAME + " characters", "");
    }
    return name;
  }

  static String required(String value, String field) {
    if (value.isEmpty()) {
      throw invalid("the request has no " + field, "");
    }
    return value;
  }

  /** Those that a StorageClass gives to everybody are not for us. */
  static void noParameters(Map<String, String> parameters) {
    for (var key : parameters.keySet()) {
      if (!key.startsWith("csi.storage.k8s.io/")) {
        throw invalid(
            "there is no parameter " + printable(key), "leave it out of the StorageClass");
      }
    }
  }

  static void capabilities(List<VolumeCapability> capabilities) {
    if (capabilities.isEmpty()) {
      throw invalid("the request has no volume_capabilities", "");
    }
    capabilities.forEach(VolumeRequests::use);
  }

  /** Fails if a volume cannot be used so. */
  static Use use(VolumeCapability capability) {
    switch (capability.getAccessMode().getMode()) {
      case SINGLE_NODE_WRITER,
          SINGLE_NODE_READER_ONLY,
          SINGLE_NODE_SINGLE_WRITER,
          SINGLE_NODE_MULTI_WRITER,
          MULTI_NODE_READER_ONLY -> {}
      case MULTI_NODE_SINGLE_WRITER, MULTI_NODE_MULTI_WRITER ->
          throw invalid(
              "a volume of "
                  + Names.VOLUME_DRIVER
                  + " is on one node, so others cannot write to it",
              "use ReadWriteOnce, ReadWriteOncePod or ReadOnlyMany");
      case UNKNOWN, UNRECOGNIZED -> throw invalid("the capability has no access mode", "");
    }
    return switch (capability.getAccessTypeCase()) {
      case BLOCK -> new Use.Block();
      case MOUNT -> directory(capability.getMount());
      case ACCESSTYPE_NOT_SET -> throw invalid("the capability has no access type", "");
    };
  }

  private static Use directory(VolumeCapability.MountVolume mount) {
    var type = mount.getFsType().isEmpty() ? DEFAULT_FILE_SYSTEM : mount.getFsType();
    if (!type.equals("ext4") && !type.equals("xfs")) {
      throw invalid("there is no fsType " + printable(type), "use ext4 or xfs");
    }
    if (mount.getMountFlagsCount() > MOST_OPTIONS) {
      throw invalid("more than " + MOST_OPTIONS + " mount options", "");
    }
    for (var option : mount.getMountFlagsList()) {
      if (!OPTION.matcher(option).matches()) {
        throw invalid("a mount option has characters that no option has", "");
      }
    }
    return new Use.Directory(type, mount.getMountFlagsList());
  }

  static boolean readsOnly(VolumeCapability capability) {
    return switch (capability.getAccessMode().getMode()) {
      case SINGLE_NODE_READER_ONLY, MULTI_NODE_READER_ONLY -> true;
      default -> false;
    };
  }

  static boolean isAlone(VolumeCapability capability) {
    return capability.getAccessMode().getMode()
        == VolumeCapability.AccessMode.Mode.SINGLE_NODE_SINGLE_WRITER;
  }

  /**
   * The size that a new volume gets.
   *
   * @param least that of what it is made from, or 0
   */
  static long capacity(CapacityRange range, long least) {
    checked(range);
    var wanted = Math.max(least, range.getRequiredBytes());
    if (wanted == 0) {
      wanted =
          range.getLimitBytes() == 0 ? DEFAULT_SIZE : Math.min(DEFAULT_SIZE, range.getLimitBytes());
    }
    if (least > 0 && range.getRequiredBytes() > 0 && range.getRequiredBytes() < least) {
      throw outOfRange("what it is made from has " + least + " bytes");
    }
    var rounded = VolumeStore.rounded(wanted);
    if (range.getLimitBytes() > 0 && rounded > range.getLimitBytes()) {
      throw outOfRange("it would have " + rounded + " bytes, which is more than the limit");
    }
    return rounded;
  }

  /** The size that a volume grows to, or what it has if no size is asked for, or a smaller one. */
  static long grown(CapacityRange range, long capacity) {
    checked(range);
    return range.getRequiredBytes() == 0 ? capacity : Math.max(capacity, capacity(range, 0));
  }

  /** Whether a volume that is there is one that was asked for. */
  static boolean fits(CapacityRange range, long capacity) {
    return capacity >= range.getRequiredBytes()
        && (range.getLimitBytes() == 0 || capacity <= range.getLimitBytes());
  }

  private static void checked(CapacityRange range) {
    if (range.getRequiredBytes() < 0 || range.getLimitBytes() < 0) {
      throw outOfRange("a size is negative");
    }
  }

  private static RuntimeException outOfRange(String why) {
    return Status.OUT_OF_RANGE
        .withDescription("no volume has such a size: " + why)
        .asRuntimeException();
  }

  Topology topology() {
    return Topology.newBuilder().putSegments(TOPOLOGY, node).build();
  }

  /** Whether a volume here is reached from where it has to be. */
  void reachable(TopologyRequirement requirement) {
    var places =
        Stream.concat(
                requirement.getRequisiteList().stream(), requirement.getPreferredList().stream())
            .toList();
    if (!places.isEmpty() && places.stream().noneMatch(this::isHere)) {
      throw Status.RESOURCE_EXHAUSTED
          .withDescription("a volume of the node " + node + " is asked for elsewhere")
          .asRuntimeException();
    }
  }

  boolean isHere(Topology place) {
    var segment = Optional.ofNullable(place.getSegmentsMap().get(TOPOLOGY));
    return segment.isEmpty() || segment.get().equals(node);
  }

  Path path(String text, String field) {
    required(text, field);
    var path = Path.of(text);
    var known =
        path.startsWith(kubeletRoot.resolve("pods"))
            || path.startsWith(kubeletRoot.resolve("plugins"));
    if (!known || !path.equals(path.normalize()) || text.indexOf('\0') >= 0) {
      throw invalid(
          field + " " + printable(text) + " is not where kubelet keeps volumes",
          "if kubelet has another --root-dir, install Platter with that one");
    }
    for (var at = path; at != null && !at.equals(kubeletRoot); at = at.getParent()) {
      if (Files.isSymbolicLink(at)) {
        throw invalid(field + " leads through the link " + at, "");
      }
    }
    return path;
  }

  /**
   * Whether a device is published for a launcher, whose VM is told how to use it. A launcher has
   * the socket to its VM, which is there before its device is, or soon after: then it is asked for
   * again.
   */
  boolean isForVm(Path target) {
    var at = DEVICE.matcher(kubeletRoot.relativize(target).toString());
    return at.matches()
        && Files.exists(
            kubeletRoot
                .resolve("pods")
                .resolve(at.group("pod"))
                .resolve("volumes/kubernetes.io~csi")
                .resolve(Names.SOCKET_VOLUME)
                .resolve("mount")
                .resolve(Names.SOCKET),
            LinkOption.NOFOLLOW_LINKS);
  }

  /**
   * Whether kubelet has left a volume at this path, which is one of its own for CSI: not in the
   * directory of a pod, and not for a pod that still has one, which kubelet removes last.
   */
  boolean isLeft(Path target) {
    return target.startsWith(kubeletRoot.resolve("plugins/kubernetes.io/csi"))
        && Files.notExists(
            kubeletRoot.resolve("pods").resolve(target.getFileName()), LinkOption.NOFOLLOW_LINKS);
  }

  private static String printable(String text) {
    var start = text.length() <= 200 ? text : text.substring(0, 200) + "…";
    return "\"" + start.replaceAll("\\p{Cntrl}", "?") + "\"";
  }

  private static PlatterException invalid(String message, String next) {
    return PlatterException.of(Code.INVALID, message, next);
  }
}
