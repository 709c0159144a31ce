package dev.platter.cluster.controller;

import dev.platter.cluster.api.Names;
import dev.platter.cluster.controller.Storage.VolumeClass;
import dev.platter.cluster.csi.Handles;
import io.fabric8.kubernetes.api.model.PersistentVolumeClaim;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * Claims of {@code platter-local} that are made from a snapshot or from another claim. What they
 * are copied from is on one node, of which a scheduler knows nothing: it would choose any, be
 * refused by the driver there, and perhaps choose the same for ever. So the node is written where a
 * scheduler writes it, as soon as it is known. Then the volume is made at once, and pods that use
 * it go there.
 *
 * <p>A driver that cannot make it, for instance because the pool is full, takes the node away
 * again: it is written anew after a pause that grows.
 */
final class CopyReconciler implements ControlLoop.Work {
  /** Until what it is made from is there. */
  private static final Duration LATER = Duration.ofSeconds(3);

  private static final Duration FIRST_PAUSE = Duration.ofSeconds(2);
  private static final int MOST_DOUBLINGS = 5;
  private static final int MOST_KNOWN = 1000;

  /** What is asked of the cluster, and done there. */
  interface Copies {
    @Nullable PersistentVolumeClaim claim(String namespace, String name);

    Optional<VolumeClass> volumeClass(String name);

    /** By which our driver knows what the claim is made from; empty if that is not there yet. */
    Optional<String> origin(PersistentVolumeClaim claim);

    List<String> nodes();

    void annotate(PersistentVolumeClaim claim, Map<String, String> annotations);
  }

  private record Tries(int count, Instant last) {}

  private final Copies cluster;
  private final InstantSource clock;

  /** By UID; the oldest are forgotten, and are then tried a little sooner. */
  private final Map<String, Tries> placed =
      new LinkedHashMap<>() {
        private static final long serialVersionUID = 1;

        @Override
        protected boolean removeEldestEntry(Map.Entry<String, Tries> eldest) {
          return size() > MOST_KNOWN;
        }
      };

  CopyReconciler(Copies cluster, InstantSource clock) {
    this.cluster = cluster;
    this.clock = clock;
  }

  /** Whether it may be one of them, as far as it says itself. */
  static boolean isWaiting(PersistentVolumeClaim claim) {
    var from = claim.getSpec().getDataSource();
    return from != null
        && List.of(SnapshotApi.SNAPSHOT_KIND, "PersistentVolumeClaim").contains(from.getKind())
        && claim.getSpec().getVolumeName() == null
        && claim.getSpec().getStorageClassName() != null
        && PrimeClaim.selectedNode(claim) == null
        && !Owned.ends(claim)
        && !claim.getMetadata().getName().startsWith(Names.FILLS_PREFIX);
  }

  @Override
  public @Nullable Duration reconcile(String key) {
    var slash = key.indexOf('/');
    var claim = cluster.claim(key.substring(0, slash), key.substring(slash + 1));
    if (claim == null || !isWaiting(claim) || !isOurs(claim)) {
      return null;
    }
    var pause = pause(claim);
    if (pause.isPositive()) {
      return pause;
    }
    var handle = cluster.origin(claim);
    if (handle.isEmpty()) {
      return LATER;
    }
    var node = cluster.nodes().stream().filter(it -> Handles.isOn(handle.get(), it)).findFirst();
    if (node.isEmpty()) {
      return LATER;
    }
    tried(claim);
    cluster.annotate(claim, Map.of(PrimeClaim.SELECTED_NODE, node.get()));
    return null;
  }

  private boolean isOurs(PersistentVolumeClaim claim) {
    return cluster
        .volumeClass(claim.getSpec().getStorageClassName())
        .filter(it -> it.driver().equals(Names.VOLUME_DRIVER) && it.waits())
        .isPresent();
  }

  private synchronized Duration pause(PersistentVolumeClaim claim) {
    var tries = placed.get(claim.getMetadata().getUid());
    if (tries == null) {
      return Duration.ZERO;
    }
    var doublings = Math.min(tries.count() - 1, MOST_DOUBLINGS);
    return Duration.between(
        clock.instant(), tries.last().plus(FIRST_PAUSE.multipliedBy(1L << doublings)));
  }

  private synchronized void tried(PersistentVolumeClaim claim) {
    var uid = claim.getMetadata().getUid();
    var before = placed.remove(uid);
    placed.put(uid, new Tries(before == null ? 1 : before.count() + 1, clock.instant()));
  }
}
