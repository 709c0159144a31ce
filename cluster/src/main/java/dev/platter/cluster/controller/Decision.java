package dev.platter.cluster.controller;

import dev.platter.cluster.api.Reason;
import dev.platter.cluster.api.VmStatus;
import io.fabric8.kubernetes.api.model.Pod;
import java.time.Duration;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * What is to be done about one VM, in this order; the status is applied after it.
 *
 * @param again when to look again if nothing happens; null if only a change can matter
 * @param restarts what to remember until the VM's next pod is made
 */
record Decision(List<Intent> intents, VmStatus status, @Nullable Duration again, int restarts) {
  Decision {
    intents = List.copyOf(intents);
  }

  /** One change to the cluster. */
  sealed interface Intent {}

  record AddFinalizer() implements Intent {}

  record RemoveFinalizer() implements Intent {}

  record CreatePod(Pod pod) implements Intent {}

  /** With its own grace period, within which the guest shuts down. */
  record DeletePod(Pod pod) implements Intent {}

  record Event(Reason reason, String message) implements Intent {}
}
