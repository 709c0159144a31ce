package dev.platter.cluster.controller;

import io.fabric8.kubernetes.api.model.Node;
import org.jspecify.annotations.Nullable;

/** What the cluster knows of a node. */
enum NodeState {
  /** Its kubelet answers, be the node ready or not. */
  UP,
  /** Its kubelet does not answer: what runs there may or may not run still. */
  LOST,
  /** The cluster has no such node any more. */
  GONE;

  static NodeState of(@Nullable Node node) {
    if (node == null) {
      return GONE;
    }
    var status = node.getStatus();
    var silent =
        status != null
            && status.getConditions().stream()
                .anyMatch(
                    condition ->
                        condition.getType().equals("Ready")
                            && condition.getStatus().equals("Unknown"));
    return silent ? LOST : UP;
  }
}
