package dev.platter.cluster.controller;

import dev.platter.cluster.api.VirtualMachine;
import dev.platter.cluster.api.VmStatus;
import io.fabric8.kubernetes.api.model.Pod;
import java.time.Instant;
import org.jspecify.annotations.Nullable;

/**
 * All that a decision on a VM depends on.
 *
 * @param pod the pod of the VM's name, whoever it belongs to
 * @param node of the {@linkplain #nodeName node} that matters; meaningless if there is none
 * @param sources of the volumes that containers make for it
 * @param restarts how often the VM has ended soon after its start, as far as it is remembered
 */
record VmView(
    VirtualMachine vm,
    @Nullable Pod pod,
    NodeState node,
    SourceView sources,
    int restarts,
    Instant now) {

  /** Where the VM's pod is, or where it was last. */
  static @Nullable String nodeName(VirtualMachine vm, @Nullable Pod pod) {
    String now =
        pod == null || pod.getSpec() == null || !VmPod.ownedBy(vm, pod)
            ? null
            : pod.getSpec().getNodeName();
    return now == null ? VmStatus.of(vm).nodeName() : now;
  }
}
