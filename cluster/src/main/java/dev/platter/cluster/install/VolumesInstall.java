package dev.platter.cluster.install;

import dev.platter.cluster.api.Names;
import dev.platter.model.PlatterException;
import dev.platter.model.PlatterException.Code;

/**
 * The objects of the driver of volumes that are kept on nodes, for those who want it. The sidecars
 * of Kubernetes that it needs have fixed versions: those it was tried with.
 */
public final class VolumesInstall {
  public static final String DEFAULT_SIDECARS = "registry.k8s.io/sig-storage";

  private static final String PROVISIONER = "/csi-provisioner:v5.1.0";
  private static final String SNAPSHOTTER = "/csi-snapshotter:v8.3.0";
  private static final String RESIZER = "/csi-resizer:v1.14.0";
  private static final String SIDECARS = "[A-Za-z0-9][A-Za-z0-9._:/-]{0,900}";
  private static final String POOL = "(/[A-Za-z0-9._/-]+)(:[0-9.]+[kKMGTPE]?i?)?";

  private VolumesInstall() {}

  /**
   * @param pool {@code DIRECTORY[:LIMIT]} on every node
   * @param sidecars where their images are: a registry and the part of a name
   */
  public static String yaml(Install.Options options, String pool, String sidecars) {
    if (!pool.matches(POOL) || pool.contains("/..")) {
      throw invalid("'" + pool + "' is not DIRECTORY or DIRECTORY:LIMIT");
    }
    if (!sidecars.matches(SIDECARS)) {
      throw invalid("'" + sidecars + "' is not where images are");
    }
    return new Template()
        .text("namespace", options.namespace())
        .text("image", options.image())
        .text("pullPolicy", options.pullPolicy())
        .text("kubeletRoot", options.kubeletRoot())
        .text("volumePool", pool)
        .text("volumeDirectory", pool.replaceFirst(POOL, "$1"))
        .text("volumeSocket", options.kubeletRoot() + "/plugins/" + Names.VOLUME_DRIVER)
        .text("provisioner", sidecars + PROVISIONER)
        .text("snapshotter", sidecars + SNAPSHOTTER)
        .text("resizer", sidecars + RESIZER)
        .lines("pullSecrets", Install.pullSecrets(options.pullSecrets()))
        .fill("volumes.yaml");
  }

  private static PlatterException invalid(String message) {
    return PlatterException.of(Code.INVALID, message, "See platter install --help.");
  }
}
