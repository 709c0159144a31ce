package dev.platter.cluster.csi;

import java.nio.file.Path;
import java.util.Map;

/**
 * An inline volume of one pod, as kubelet asks for it; every part has been checked.
 *
 * <p>Kubelet alone decides the target and therefore the UID. The other names are kubelet's too as
 * long as the CSIDriver object says {@code podInfoOnMount}; without it a user can write them. So
 * whoever acts for a pod finds it by its UID.
 *
 * @param volumeId made by kubelet, the same for the life of the pod
 * @param target {@code <kubelet root>/pods/<pod uid>/volumes/kubernetes.io~csi/<volume>/mount}
 * @param attributes what the user wrote as the volume's attributes
 */
public record PodVolume(
    String volumeId,
    Path target,
    String namespace,
    String pod,
    String podUid,
    String serviceAccount,
    Map<String, String> attributes) {
  public PodVolume {
    attributes = Map.copyOf(attributes);
  }
}
