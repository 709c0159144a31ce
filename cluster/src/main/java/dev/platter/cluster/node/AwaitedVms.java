package dev.platter.cluster.node;

import io.fabric8.kubernetes.api.model.Pod;
import java.util.HashMap;
import java.util.Map;

/**
 * Pods that VMs are on their way to. A pod that ends can give up its VM until it is decided that
 * the VM is there, and not after: so none comes to a pod that is gone.
 */
final class AwaitedVms {
  private enum State {
    EXPECTED,
    GIVEN_UP,
    TAKEN
  }

  private final Map<String, State> states = new HashMap<>();

  private static String uid(Pod pod) {
    return pod.getMetadata().getUid();
  }

  synchronized void expect(Pod pod) {
    states.put(uid(pod), State.EXPECTED);
  }

  /** False if the VM is about to be the pod's. */
  synchronized boolean giveUp(Pod pod) {
    return states.computeIfPresent(
            uid(pod), (_, state) -> state == State.TAKEN ? state : State.GIVEN_UP)
        != State.TAKEN;
  }

  /** False if the pod does not want it any more. */
  synchronized boolean take(Pod pod) {
    return states.replace(uid(pod), State.EXPECTED, State.TAKEN);
  }

  /** It has come, or does not. */
  synchronized void forget(Pod pod) {
    states.remove(uid(pod));
  }
}
