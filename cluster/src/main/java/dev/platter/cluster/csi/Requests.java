package dev.platter.cluster.csi;

import csi.v1.NodePublishVolumeRequest;
import csi.v1.VolumeCapability;
import dev.platter.cluster.api.Names;
import dev.platter.model.PlatterException;
import java.nio.file.Path;
import java.util.Map;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Checks what kubelet asks for; behind this nobody checks again.
 *
 * <p>The target is the one thing that is done as root on the node. It must be exactly where kubelet
 * puts an inline volume of the pod that the request is about, so whoever else should reach the
 * driver cannot have a directory made or removed elsewhere.
 *
 * <p>The volume must be read-only: kubelet then mounts it so in every container, and no container
 * can put a link or a file where the node works, or fill the node's disk.
 */
final class Requests {
  private static final String POD_INFO = "csi.storage.k8s.io/";

  private static final String UID = "[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}";
  private static final String LABEL = "[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?";
  private static final Pattern VOLUME_ID = Pattern.compile("csi-[0-9a-f]{64}");
  private static final Pattern NAMESPACE = Pattern.compile(LABEL);
  private static final Pattern OBJECT =
      Pattern.compile("(?=.{1,253}$)" + LABEL + "(?:\\." + LABEL + ")*");

  private final Pattern targets;

  /**
   * @param kubeletRoot as kubelet itself writes it
   */
  Requests(Path kubeletRoot) {
    this.targets =
        Pattern.compile(
            Pattern.quote(kubeletRoot + "/pods/")
                + "(?<uid>"
                + UID
                + ")/volumes/kubernetes\\.io~csi/"
                + LABEL
                + "/mount");
  }

  PodVolume volume(NodePublishVolumeRequest request) {
    var volumeId = volumeId(request.getVolumeId());
    var target = target(request.getTargetPath());
    capability(request);
    Map<String, String> context = request.getVolumeContextMap();
    if (!"true".equals(context.get(POD_INFO + "ephemeral"))) {
      throw invalid(
          "a volume of " + Names.CSI_DRIVER + " is always an inline volume of a pod",
          "use it as a pod's `csi` volume, not through a PersistentVolume");
    }
    if (!request.getReadonly()) {
      throw invalid(
          "a volume of " + Names.CSI_DRIVER + " must be read-only",
          "set `readOnly: true` in the pod's `csi` volume");
    }
    var uid = target.getName(target.getNameCount() - 5).toString();
    var named = info(context, "pod.uid", Pattern.compile(UID));
    if (!named.equals(uid)) {
      throw invalid("the target is in the directory of pod " + uid + ", not of pod " + named, "");
    }
    return new PodVolume(
        volumeId,
        target,
        info(context, "pod.namespace", NAMESPACE),
        info(context, "pod.name", OBJECT),
        uid,
        info(context, "serviceAccount.name", OBJECT),
        attributes(context));
  }

  String volumeId(String id) {
    if (id.isEmpty()) {
      throw invalid("the request has no volume_id", "");
    }
    if (!VOLUME_ID.matcher(id).matches()) {
      throw invalid(
          "volume_id " + quoted(id) + " is not one that kubelet makes for an inline volume",
          "use the driver for a pod's `csi` volume only");
    }
    return id;
  }

  Path target(String path) {
    if (path.isEmpty()) {
      throw invalid("the request has no target_path", "");
    }
    if (!match(path).matches()) {
      throw invalid(
          "target_path " + quoted(path) + " is not a pod's inline volume below kubelet's root",
          "if kubelet has another --root-dir, install Platter with that one");
    }
    return Path.of(path);
  }

  private Matcher match(String path) {
    return targets.matcher(path);
  }

  private static void capability(NodePublishVolumeRequest request) {
    if (!request.hasVolumeCapability()) {
      throw invalid("the request has no volume_capability", "");
    }
    var capability = request.getVolumeCapability();
    switch (capability.getAccessTypeCase()) {
      case MOUNT -> mount(capability.getMount());
      case BLOCK ->
          throw invalid(
              "a volume of " + Names.CSI_DRIVER + " is a directory, not a block device",
              "use volumeMounts for it, not volumeDevices");
      case ACCESSTYPE_NOT_SET -> throw invalid("the volume_capability has no access type", "");
    }
    switch (capability.getAccessMode().getMode()) {
      case SINGLE_NODE_WRITER,
          SINGLE_NODE_READER_ONLY,
          SINGLE_NODE_SINGLE_WRITER,
          SINGLE_NODE_MULTI_WRITER -> {}
      case MULTI_NODE_READER_ONLY,
          MULTI_NODE_SINGLE_WRITER,
          MULTI_NODE_MULTI_WRITER,
          UNKNOWN,
          UNRECOGNIZED ->
          throw invalid(
              "access mode "
                  + capability.getAccessMode().getMode()
                  + " makes no sense for a volume of one pod",
              "");
    }
  }

  private static void mount(VolumeCapability.MountVolume mount) {
    if (mount.getMountFlagsCount() > 0) {
      throw invalid(
          "a volume of " + Names.CSI_DRIVER + " is not mounted, so mount options say nothing",
          "leave them out");
    }
  }

  private static String info(Map<String, String> context, String key, Pattern syntax) {
    var value = context.get(POD_INFO + key);
    if (value == null) {
      throw invalid(
          "kubelet did not say the pod's " + POD_INFO + key,
          "set `podInfoOnMount: true` in the CSIDriver " + Names.CSI_DRIVER);
    }
    if (!syntax.matcher(value).matches()) {
      throw invalid(POD_INFO + key + " " + quoted(value) + " is not valid", "");
    }
    return value;
  }

  /** Without what kubelet adds, where tokens may be. */
  private static Map<String, String> attributes(Map<String, String> context) {
    var attributes = new TreeMap<>(context);
    attributes.keySet().removeIf(key -> key.startsWith(POD_INFO));
    return attributes;
  }

  private static String quoted(String text) {
    var start = text.length() <= 200 ? text : text.substring(0, 200) + "…";
    return "\"" + start.replaceAll("\\p{Cntrl}", "?") + "\"";
  }

  private static PlatterException invalid(String message, String next) {
    return PlatterException.of(PlatterException.Code.INVALID, message, next);
  }
}
