package dev.platter.cluster.controller;

import dev.platter.cluster.api.IdentityStatus;
import dev.platter.cluster.api.ImageStatus;
import dev.platter.cluster.api.Names;
import dev.platter.cluster.api.VmIdentity;
import dev.platter.cluster.api.VmImage;
import io.fabric8.kubernetes.api.model.HasMetadata;
import io.fabric8.kubernetes.api.model.PersistentVolumeClaim;
import io.fabric8.kubernetes.api.model.Pod;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * Images, claims and snapshots of a cluster, and what is done to them. Each call but those to an
 * informer may fail with a {@code KubernetesClientException}.
 */
interface Storage {
  /**
   * @param driver who makes its volumes
   * @param waits whether a volume is made only when a pod wants it
   */
  record VolumeClass(String name, String driver, boolean waits) {
    /** Whether a volume, and what is made from it, is on one node. */
    boolean onNodes() {
      return driver.equals(Names.VOLUME_DRIVER);
    }
  }

  /**
   * @param owner the UID of the object that it belongs to
   * @param size of the smallest claim that can be made from it, if the driver says so
   * @param problem what keeps it from becoming ready, if it is known
   */
  record Snapshot(
      @Nullable String owner, boolean ready, @Nullable Long size, @Nullable String problem) {}

  /** How a driver makes snapshots, or why it does not. */
  sealed interface SnapshotClass {
    record Found(String name) implements SnapshotClass {}

    record None(String why) implements SnapshotClass {}
  }

  /** As an informer knows it, as are the next three. */
  @Nullable VmImage image(String key);

  @Nullable PersistentVolumeClaim claim(String key);

  /** A pod that fills a claim. */
  @Nullable Pod filler(String key);

  List<VmIdentity> identities(String namespace);

  /** As it is now, whoever made it. */
  @Nullable PersistentVolumeClaim claimNow(String namespace, String name);

  /**
   * @param name null for platter-local, or else the cluster's default
   */
  Optional<VolumeClass> volumeClass(@Nullable String name);

  SnapshotClass snapshotClass(String driver);

  Optional<Snapshot> snapshot(String namespace, String name);

  /** What somebody last complained of about the claim. */
  Optional<String> complaint(PersistentVolumeClaim claim);

  void create(HasMetadata object);

  /** Makes a snapshot of the image's name, which belongs to the image. */
  void createSnapshot(VmImage image, String claim, String snapshotClass);

  /** If it is still the version that was looked at. */
  void delete(HasMetadata object);

  void status(VmImage image, ImageStatus status);

  void status(VmIdentity identity, IdentityStatus status);

  void finalizers(VmIdentity identity, List<String> finalizers);
}
