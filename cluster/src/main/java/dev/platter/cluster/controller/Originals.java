package dev.platter.cluster.controller;

import dev.platter.cluster.api.DiskImport;
import dev.platter.cluster.api.Names;
import dev.platter.cluster.controller.Storage.SnapshotClass;
import dev.platter.cluster.controller.Storage.VolumeClass;
import io.fabric8.kubernetes.api.model.GenericKubernetesResource;
import io.fabric8.kubernetes.api.model.PersistentVolumeClaim;
import io.fabric8.kubernetes.api.model.Pod;
import io.fabric8.kubernetes.client.KubernetesClientException;
import java.time.Duration;
import java.time.InstantSource;
import java.util.Comparator;
import java.util.Objects;
import java.util.Optional;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Where a class shares blocks, a disk that is the same each time is written once on a node: the
 * first volume is snapshotted before its claim gets it, and what comes later is made from the
 * snapshot. A snapshot is known by the object that the disk came from and not by the disk's digest,
 * so nobody gets a disk for which they named another source, or no login.
 *
 * <p>It saves work and nothing else: without one, or if none can be made, a claim is filled as any
 * other.
 */
final class Originals {
  /** A claim does not wait longer for the snapshot of its volume. */
  private static final Duration PATIENCE = Duration.ofMinutes(1);

  /** Statuses that begin with 4. */
  private static final int REFUSED = 4;

  private static final int CLASS_OF_STATUS = 100;

  private final Populations cluster;
  private final InstantSource clock;

  Originals(Populations cluster, InstantSource clock) {
    this.cluster = cluster;
    this.clock = clock;
  }

  /** How snapshots are made of the claim's volume, if claims share this disk. */
  private Optional<String> snapshotClass(DiskImport source, PersistentVolumeClaim claim) {
    return Optional.ofNullable(claim.getSpec().getStorageClassName())
        .filter(name -> source.pinned() && !name.isEmpty())
        .flatMap(cluster::volumeClass)
        .filter(VolumeClass::onNodes)
        .map(volumes -> cluster.snapshotClass(volumes.driver()))
        .flatMap(
            it ->
                it instanceof SnapshotClass.Found found
                    ? Optional.of(found.name())
                    : Optional.empty());
  }

  boolean areMade(DiskImport source, PersistentVolumeClaim claim) {
    return snapshotClass(source, claim).isPresent();
  }

  private Stream<Original> of(DiskImport source) {
    return cluster.snapshots(source).stream()
        .filter(object -> Owned.by(source, object))
        .flatMap(object -> Original.read(object).stream());
  }

  /** The one that the claim's volume can be made from; of several the largest. */
  Optional<Original> find(DiskImport source, PersistentVolumeClaim claim) {
    return find(source, claim, PrimeClaim.selectedNode(claim));
  }

  private Optional<Original> find(
      DiskImport source, PersistentVolumeClaim claim, @Nullable String node) {
    return of(source)
        .filter(original -> original.serves(source, claim, node))
        .max(
            Comparator.comparingLong((Original it) -> it.about().size())
                .thenComparing(Original::name));
  }

  /**
   * Whether a claim that would be filled with the same, and there, is before this one: then that is
   * filled, and this one made from it.
   */
  boolean isNext(DiskImport source, PersistentVolumeClaim claim) {
    var order =
        Comparator.comparing(
                (PersistentVolumeClaim it) -> it.getMetadata().getCreationTimestamp(),
                Comparator.nullsFirst(Comparator.naturalOrder()))
            .thenComparing(it -> it.getMetadata().getUid());
    return cluster.claims(SourceKey.of(source)).stream()
        .filter(other -> !Owned.ends(other) && other.getSpec().getVolumeName() == null)
        .filter(other -> PrimeClaim.foreignNamespace(other).isEmpty())
        .filter(other -> isLike(claim, other))
        .noneMatch(other -> order.compare(other, claim) < 0);
  }

  private static boolean isLike(PersistentVolumeClaim one, PersistentVolumeClaim other) {
    return Objects.equals(
            one.getSpec().getStorageClassName(), other.getSpec().getStorageClassName())
        && PrimeClaim.isBlock(one) == PrimeClaim.isBlock(other)
        && PrimeClaim.size(one) == PrimeClaim.size(other)
        && Objects.equals(PrimeClaim.selectedNode(one), PrimeClaim.selectedNode(other));
  }

  /**
   * Takes a snapshot of the volume that the pod has written, unless there is one.
   *
   * @return whether there is nothing more to wait for
   */
  boolean keep(
      DiskImport source, PersistentVolumeClaim claim, PersistentVolumeClaim prime, Pod pod) {
    var node = pod.getSpec().getNodeName();
    var snapshotClass = snapshotClass(source, claim);
    if (node == null
        || snapshotClass.isEmpty()
        || !FillPod.isCurrent(pod, source)
        || find(source, claim, node).isPresent()) {
      return true;
    }
    var about = Original.About.of(source, claim, node, FillPod.result(pod).digest());
    var begun =
        of(source)
            .filter(original -> original.name().equals(about.name()))
            .findFirst()
            .orElse(null);
    if (begun == null) {
      var meta =
          Owned.metadata(source, about.name())
              .addToLabels(Names.ORIGINAL, source.getMetadata().getUid())
              .addToAnnotations(Names.ORIGINAL, about.text())
              .build();
      var snapshot = SnapshotApi.snapshot(meta, prime.getMetadata().getName(), snapshotClass.get());
      return !isMade(snapshot);
    }
    if (begun.isOlderThan(clock.instant().minus(PATIENCE))) {
      remove(begun);
      return true;
    }
    return false;
  }

  /** It may not be allowed, or the name be somebody else's: then there is none. */
  private boolean isMade(GenericKubernetesResource snapshot) {
    try {
      cluster.create(snapshot);
      return true;
    } catch (KubernetesClientException e) {
      if (e.getCode() / CLASS_OF_STATUS != REFUSED) {
        throw e;
      }
      return false;
    }
  }

  /** Whether claims can be made from the snapshot of this name. */
  boolean has(DiskImport source, String name) {
    return of(source)
        .anyMatch(it -> it.name().equals(name) && it.isOf(source) && !Owned.ends(it.object()));
  }

  /** Those of what the object was before it was changed. */
  void removeOld(DiskImport source) {
    of(source).filter(original -> !original.isOf(source)).forEach(this::remove);
  }

  void removeAll(DiskImport source) {
    of(source).forEach(this::remove);
  }

  private void remove(Original original) {
    if (!Owned.ends(original.object())) {
      cluster.delete(original.object());
    }
  }
}
