package dev.platter.cluster.controller;

import dev.platter.cluster.api.ClaimSource;
import dev.platter.cluster.api.FillResult;
import dev.platter.cluster.api.FilledClaim;
import dev.platter.cluster.api.Names;
import dev.platter.node.x509.Authority;
import io.fabric8.kubernetes.api.model.GenericKubernetesResource;
import io.fabric8.kubernetes.api.model.HasMetadata;
import io.fabric8.kubernetes.api.model.OwnerReference;
import io.fabric8.kubernetes.api.model.PersistentVolume;
import io.fabric8.kubernetes.api.model.PersistentVolumeBuilder;
import io.fabric8.kubernetes.api.model.PersistentVolumeClaim;
import io.fabric8.kubernetes.api.model.Pod;
import io.fabric8.kubernetes.api.model.PodStatusBuilder;
import java.time.Duration;
import java.time.Instant;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.Function;
import java.util.function.Supplier;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * A cluster in memory where claims are filled: the controller is the real one; kubelet, scheduler,
 * driver, binder and garbage collector are here.
 */
final class FillingCluster {
  static final String DIGEST = "sha256:" + "1".repeat(64);
  static final Duration GRACE = Duration.ofMinutes(10);
  private static final int LOOKS = 24;

  final FakePopulations cluster = new FakePopulations();
  Instant now = Instant.parse("2026-01-01T00:00:00Z");

  /** What pods that fill claims run. */
  FillPod.Program program =
      new FillPod.Program("platter:1", "Never", "", Optional.empty(), new TreeMap<>());

  PopulateReconciler reconciler = reconciler();
  Function<Pod, String> ends = _ -> "Succeeded";

  /** Whether snapshots come to be. */
  boolean snapshots = true;

  /** Who signs for clients of CDI; null if none can send disks. */
  @Nullable Supplier<Authority> uploads;

  /** Nodes on which the driver has no room. */
  final Set<String> full = new HashSet<>();

  /** Volumes that began as an image. */
  final Set<String> drawn = new HashSet<>();

  private final Set<String> lookedUp = new HashSet<>();

  /** How many have run. */
  int pods;

  final String key;

  /**
   * @param key of what claims are filled from
   */
  FillingCluster(String key) {
    this.key = key;
    cluster.clock = () -> now;
  }

  static final class Killed extends Error {
    private static final long serialVersionUID = 1;
  }

  PopulateReconciler reconciler() {
    return new PopulateReconciler(cluster, () -> program, GRACE, uploads, () -> now);
  }

  FilledClaim said(String claim) {
    return cluster.all(ClaimSource.class).getFirst().said().claims().stream()
        .filter(it -> it.name().equals(claim))
        .findFirst()
        .orElseThrow();
  }

  void settle() {
    for (var i = 0; i < LOOKS; i++) {
      try {
        reconciler.reconcile(key);
      } catch (Killed e) {
        reconciler = reconciler();
      }
      othersAct();
      now = now.plusSeconds(3);
    }
  }

  void othersAct() {
    for (var claim : cluster.all(PersistentVolumeClaim.class)) {
      var owned =
          cluster.all(PersistentVolume.class).stream()
              .filter(
                  it -> claim.getMetadata().getUid().equals(it.getSpec().getClaimRef().getUid()))
              .findFirst();
      if (owned.isPresent()) {
        claim.getSpec().setVolumeName(owned.get().getMetadata().getName());
        claim.getStatus().setPhase("Bound");
      } else if (claim.getSpec().getVolumeName() != null) {
        claim.getStatus().setPhase("Lost");
      } else if (claim.getSpec().getDataSourceRef() == null
          && full.contains(String.valueOf(PrimeClaim.selectedNode(claim)))) {
        claim.getMetadata().getAnnotations().remove(PrimeClaim.SELECTED_NODE);
      } else if (isMade(claim)) {
        provision(claim);
      }
    }
    cluster.all(Pod.class).forEach(this::run);
    if (snapshots) {
      cluster
          .all(GenericKubernetesResource.class)
          .forEach(it -> it.setAdditionalProperty("status", Map.of("readyToUse", true)));
    }
    collect();
  }

  /** By a driver that makes volumes, from snapshots too. */
  private boolean isMade(PersistentVolumeClaim claim) {
    var from = claim.getSpec().getDataSource();
    return claim.getSpec().getDataSourceRef() == null
        && (from == null
            || cluster.objects.containsKey("VolumeSnapshot " + from.getName())
            || cluster.objects.containsKey("VirtletVMImage " + from.getName()));
  }

  private void provision(PersistentVolumeClaim claim) {
    var volume =
        new PersistentVolumeBuilder()
            .withNewMetadata()
            .withName("pv-of-" + claim.getMetadata().getUid())
            .endMetadata()
            .withNewSpec()
            .endSpec()
            .build();
    cluster.add(volume);
    FakePopulations.own(volume, claim);
  }

  private void run(Pod pod) {
    if (!pod.getMetadata().getName().startsWith(Names.FILLS_PREFIX)) {
      return;
    }
    if (DrawPod.is(pod)) {
      draw(pod);
      return;
    }
    var claim = pod.getSpec().getVolumes().getLast().getPersistentVolumeClaim().getClaimName();
    var prime = cluster.claim(claim);
    if (prime != null
        && PrimeClaim.isBound(prime)
        && pod.getStatus().getPhase().equals("Pending")) {
      pods++;
      var node = PrimeClaim.selectedNode(prime);
      pod.getSpec().setNodeName(node == null ? "node1" : node);
      end(pod, ends.apply(pod));
    }
  }

  /** As a node's daemon does, with the driver of volumes. */
  private void draw(Pod pod) {
    var prime = cluster.claim(pod.getMetadata().getName());
    if (pod.getMetadata().getAnnotations().get(Names.FILL).equals(Names.FILL_DRAW)
        && !DrawPod.hasBegun(pod)) {
      if (prime == null || !PrimeClaim.isBound(prime) || !PrimeClaim.isFor(prime, pod)) {
        return;
      }
      if (lookedUp.add(pod.getMetadata().getUid())) {
        return; // It takes a while.
      }
      pods++;
      drawn.add(prime.getSpec().getVolumeName());
      pod.setStatus(
          new PodStatusBuilder()
              .withPhase("Running")
              .addNewCondition()
              .withType(Names.IMAGE_SIZE)
              .withMessage("1024")
              .endCondition()
              .build());
      if (ends.apply(pod).equals("Failed")) {
        end(pod, "Failed");
      }
    } else if (!ends.apply(pod).equals("Running") && !DrawPod.isOver(pod)) {
      end(pod, ends.apply(pod));
    }
  }

  void end(Pod pod, String phase) {
    if (phase.equals("lost")) {
      cluster.objects.remove(FakePopulations.key(pod));
      return;
    }
    var result =
        phase.equals("Failed")
            ? new FillResult(null, "Refused", "it is no disk")
            : new FillResult(DIGEST, "Filled", "");
    pod.setStatus(
        new PodStatusBuilder()
            .withPhase(phase)
            .addNewContainerStatus()
            .withNewState()
            .withNewTerminated()
            .withMessage(result.text())
            .endTerminated()
            .endState()
            .endContainerStatus()
            .build());
  }

  /** The garbage collector, and the driver whose claim is gone. */
  private void collect() {
    var uids = cluster.objects.values().stream().map(it -> it.getMetadata().getUid()).toList();
    cluster.objects.values().removeIf(it -> !uids.containsAll(owners(it)));
    cluster
        .objects
        .values()
        .removeIf(
            it ->
                it instanceof PersistentVolume volume
                    && !uids.contains(volume.getSpec().getClaimRef().getUid()));
  }

  static List<String> owners(HasMetadata object) {
    return Stream.ofNullable(object.getMetadata().getOwnerReferences())
        .flatMap(List::stream)
        .map(OwnerReference::getUid)
        .toList();
  }
}
