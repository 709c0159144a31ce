package dev.platter.cluster.csi;

import java.io.IOException;
import java.nio.file.Path;

/**
 * What the driver does to a pod's volume. Kubelet repeats a call until it succeeds, and after its
 * own restart, so doing either twice must be the same as doing it once.
 *
 * <p>A {@link dev.platter.model.PlatterException} reaches the pod's events with its message.
 */
public interface PodSockets {
  /** Makes the target directory and the socket in it. */
  void publish(PodVolume volume) throws IOException;

  /** Takes both away; a target that is not there is no error. */
  void unpublish(String volumeId, Path target) throws IOException;
}
