package dev.platter.cluster.controller;

import dev.platter.cluster.api.IdentityStatus;
import dev.platter.cluster.api.VmIdentity;
import io.fabric8.kubernetes.api.model.Pod;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.Set;

/**
 * Whether the disk of an identity should move: to the pod that waits for it elsewhere. As long as
 * there is a pod where the disk is, be it one that ends, it stays, since that pod's VM may write.
 */
final class IdentityPlacement {
  private static final Set<String> OVER = Set.of("Succeeded", "Failed");

  private IdentityPlacement() {}

  /** The node that its {@code spec} has to name; empty if nothing has to change. */
  static Optional<String> of(VmIdentity identity, List<Pod> pods) {
    if (!identity.local()) {
      return Optional.empty();
    }
    var at = IdentityStatus.of(identity).nodeName();
    var placed =
        pods.stream()
            .filter(pod -> pod.getSpec().getNodeName() != null)
            .filter(pod -> pod.getStatus() == null || !OVER.contains(phase(pod)))
            .toList();
    if (placed.stream().anyMatch(pod -> pod.getSpec().getNodeName().equals(at))) {
      return Optional.empty();
    }
    return placed.stream()
        .filter(pod -> pod.getMetadata().getDeletionTimestamp() == null)
        .min(Comparator.comparing(pod -> pod.getMetadata().getCreationTimestamp()))
        .map(pod -> pod.getSpec().getNodeName())
        .filter(node -> !node.equals(identity.wantedNode()));
  }

  private static String phase(Pod pod) {
    return Optional.ofNullable(pod.getStatus().getPhase()).orElse("");
  }
}
