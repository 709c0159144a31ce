package dev.platter.cluster.controller;

import dev.platter.cluster.api.ClaimSource;
import dev.platter.cluster.api.FillStatus;
import dev.platter.cluster.api.Reason;
import dev.platter.cluster.controller.Storage.SnapshotClass;
import dev.platter.cluster.controller.Storage.VolumeClass;
import io.fabric8.kubernetes.api.model.GenericKubernetesResource;
import io.fabric8.kubernetes.api.model.HasMetadata;
import io.fabric8.kubernetes.api.model.PersistentVolume;
import io.fabric8.kubernetes.api.model.PersistentVolumeClaim;
import io.fabric8.kubernetes.api.model.Pod;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * Claims that are to be filled, what they are filled from, and what is done about it. Each call but
 * those to an informer may fail with a {@code KubernetesClientException}.
 */
interface Populations {
  /** How much of a file has come; {@code total} is -1 if nobody knows. */
  record Progress(long bytes, long total) {}

  /** As an informer knows it, as are the next three. */
  @Nullable ClaimSource source(SourceKey key);

  /** Those that name it. */
  List<PersistentVolumeClaim> claims(SourceKey key);

  @Nullable PersistentVolumeClaim claim(String key);

  @Nullable Pod pod(String key);

  /** As it is now, past all informers, as are the next three. */
  @Nullable PersistentVolumeClaim claimNow(String namespace, String name);

  @Nullable Pod podNow(String namespace, String name);

  @Nullable PersistentVolume volume(String name);

  /** The pods that name the claim. */
  List<Pod> users(PersistentVolumeClaim claim);

  Optional<VolumeClass> volumeClass(String name);

  SnapshotClass snapshotClass(String driver);

  /** Those of volumes that were filled from it. */
  List<GenericKubernetesResource> snapshots(ClaimSource source);

  /** What somebody last complained of about the claim. */
  Optional<String> complaint(PersistentVolumeClaim claim);

  /** What each of the pods says itself, asked side by side; empty if it does not answer. */
  List<Optional<Progress>> progress(List<Pod> pods);

  /** Returns it as the server has it. */
  <T extends HasMetadata> T create(T object);

  /** If it is still the version that was looked at. */
  void delete(HasMetadata object);

  /**
   * The volume is the claim's from now on, if it is still the version that was looked at.
   *
   * @param digest of the disk that is on it
   */
  void bind(PersistentVolume volume, PersistentVolumeClaim claim, Optional<String> digest);

  /** If it is still the same claim. */
  void annotate(PersistentVolumeClaim claim, Map<String, String> annotations);

  void status(ClaimSource source, FillStatus status);

  void event(HasMetadata about, Reason reason, String message);
}
