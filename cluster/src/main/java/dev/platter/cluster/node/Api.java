package dev.platter.cluster.node;

import dev.platter.cluster.api.Reason;
import dev.platter.cluster.api.VmIdentity;
import dev.platter.cluster.api.VmStatus.DiskStatus;
import dev.platter.plan.VmKey;
import io.fabric8.kubernetes.api.model.PersistentVolume;
import io.fabric8.kubernetes.api.model.PersistentVolumeClaim;
import io.fabric8.kubernetes.api.model.Pod;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * What a node's daemon wants of the API server. Each call may fail with a {@link
 * io.fabric8.kubernetes.client.KubernetesClientException}; then nothing is known.
 */
interface Api extends Gathering.Storage {
  /** A launcher pod of this node. */
  Optional<Pod> pod(String uid);

  /**
   * One that has a VM of this name, or waits for it. That there is none has to be asked for: this
   * is what was last heard.
   */
  Optional<Pod> podHere(String namespace, String name);

  /** The pod of this name, wherever it is. */
  Optional<Pod> pod(String namespace, String name);

  /** The VM object of this name. */
  Optional<VmObject> vm(String namespace, String name);

  @Override
  Optional<PersistentVolumeClaim> claim(String namespace, String name);

  @Override
  Optional<PersistentVolume> volume(String name);

  @Override
  Optional<VmIdentity> identity(String namespace, String name);

  /** Says of a pod whether its guest runs. */
  void running(Pod pod, boolean runs, Reason reason, String message);

  /** Says of a pod how large its image is. */
  void imageSize(Pod pod, long bytes);

  void event(Pod pod, Reason reason, String message);

  /** Says what the disks of a VM object are that this node runs. */
  void disks(VmKey key, String uid, List<DiskStatus> disks);

  /**
   * The VM object is not to vanish before this node has removed its disks.
   *
   * @return false if it has vanished
   */
  boolean keep(String namespace, String name, String uid);

  /** The VM object need not wait for this node any longer. */
  void release(VmObject vm);

  /**
   * @param deleted whether somebody wants it gone
   * @param pod the name of its pod
   * @param movedTo the pod that it moved to last
   * @param node where it runs or ran last
   */
  record VmObject(
      String namespace,
      String name,
      String uid,
      boolean deleted,
      String pod,
      @Nullable String movedTo,
      @Nullable String node) {}
}
