package dev.platter.cluster.controller;

import dev.platter.cluster.api.Condition;
import dev.platter.cluster.api.Names;
import dev.platter.cluster.api.Reason;
import io.fabric8.kubernetes.api.model.ContainerState;
import io.fabric8.kubernetes.api.model.ContainerStateTerminated;
import io.fabric8.kubernetes.api.model.Pod;
import io.fabric8.kubernetes.api.model.PodCondition;
import java.time.DateTimeException;
import java.time.Duration;
import java.time.Instant;
import java.time.OffsetDateTime;
import java.util.Arrays;
import java.util.Objects;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** Reads what a VM's pod says. A pod that says nothing yet, or nonsense, is a pod that starts. */
record PodView(Pod pod) {
  private static final int MOST_RESTARTS = 20;

  boolean deleting() {
    return pod.getMetadata().getDeletionTimestamp() != null;
  }

  boolean scheduled() {
    return pod.getSpec() != null && pod.getSpec().getNodeName() != null;
  }

  boolean finished() {
    return phase().equals("Succeeded") || phase().equals("Failed");
  }

  boolean failed() {
    return phase().equals("Failed");
  }

  /** Whether the guest runs: the node says so by the pod's readiness gate. */
  boolean running() {
    var gate = condition(Names.RUNNING_GATE);
    return phase().equals("Running") && gate != null && "True".equals(gate.getStatus());
  }

  /** Why the guest stands still, if it has run and will go on. */
  @Nullable Outcome stall() {
    var gate = condition(Names.RUNNING_GATE);
    return started() && gate != null && reason(gate.getReason()) == Reason.DISK_FULL
        ? new Outcome(Reason.DISK_FULL, text(gate.getMessage(), Reason.DISK_FULL))
        : null;
  }

  /** Whether its container runs, be there a guest or not. */
  boolean started() {
    return phase().equals("Running");
  }

  private String phase() {
    var phase = pod.getStatus() == null ? null : pod.getStatus().getPhase();
    return phase == null ? "" : phase;
  }

  @Nullable PodCondition condition(String type) {
    return conditions().filter(each -> type.equals(each.getType())).findFirst().orElse(null);
  }

  private Stream<PodCondition> conditions() {
    return pod.getStatus() == null ? Stream.of() : pod.getStatus().getConditions().stream();
  }

  private Stream<ContainerState> states() {
    return pod.getStatus() == null
        ? Stream.of()
        : pod.getStatus().getContainerStatuses().stream()
            .map(status -> status.getState())
            .filter(Objects::nonNull);
  }

  private @Nullable ContainerStateTerminated terminated() {
    return states()
        .map(ContainerState::getTerminated)
        .filter(Objects::nonNull)
        .findFirst()
        .orElse(null);
  }

  /** How often the VM had ended soon after its start when this pod was made. */
  int restarts() {
    try {
      return Math.clamp(Integer.parseInt(annotation(VmPod.RESTARTS)), 0, MOST_RESTARTS);
    } catch (NumberFormatException e) {
      return 0;
    }
  }

  String annotation(String name) {
    var annotations = pod.getMetadata().getAnnotations();
    return annotations == null ? "" : annotations.getOrDefault(name, "");
  }

  /** A pod that was evicted has no container that could say when it ended. */
  Instant endedAt() {
    var end = terminated();
    var said = end == null ? null : time(end.getFinishedAt());
    return said != null
        ? said
        : conditions()
            .map(condition -> time(condition.getLastTransitionTime()))
            .filter(Objects::nonNull)
            .max(Instant::compareTo)
            .orElse(Instant.EPOCH);
  }

  Duration ranFor() {
    var end = terminated();
    var from = end == null ? null : time(end.getStartedAt());
    return from == null ? Duration.ZERO : Duration.between(from, endedAt());
  }

  /** Why the guest does not run yet. */
  Outcome delay() {
    var gate = condition(Names.RUNNING_GATE);
    var said = gate == null ? null : reason(gate.getReason());
    if (gate != null && said != null && said != Reason.RUNNING) {
      return new Outcome(said, text(gate.getMessage(), said));
    }
    var waiting =
        states().map(ContainerState::getWaiting).filter(Objects::nonNull).findFirst().orElse(null);
    return waiting == null || waiting.getMessage() == null
        ? new Outcome(Reason.STARTING, Reason.STARTING.sentence())
        : new Outcome(Reason.STARTING, waiting.getReason() + ": " + waiting.getMessage());
  }

  /** What keeps its containers from being ready. */
  String obstacle() {
    var scheduled = condition(Condition.POD_SCHEDULED);
    if (scheduled != null && "False".equals(scheduled.getStatus())) {
      return String.valueOf(scheduled.getMessage());
    }
    return states()
        .map(ContainerState::getWaiting)
        .filter(Objects::nonNull)
        .map(waiting -> waiting.getReason() + ": " + waiting.getMessage())
        .findFirst()
        .orElse("it is starting");
  }

  /**
   * How the program of the VM's image ended; null if it is not known that it ever ran. The node may
   * be slower to say that it ended than the kubelet is.
   */
  @Nullable Integer exitCode() {
    var gate = condition(Names.RUNNING_GATE);
    var said = gate == null ? null : reason(gate.getReason());
    var end = terminated();
    return end != null
            && (said == Reason.RUNNING
                || said == Reason.DISK_FULL
                || said == Reason.COMPLETED
                || said == Reason.EXITED)
        ? end.getExitCode()
        : null;
  }

  /** Why the guest does not run any more. */
  Outcome end() {
    var gate = condition(Names.RUNNING_GATE);
    var said = gate == null ? null : reason(gate.getReason());
    var end = terminated();
    // The counters that tell the node's daemon are gone with the container, and kubelet may be the
    // first to see its end.
    if (end != null
        && "OOMKilled".equals(end.getReason())
        && (said == null || said == Reason.CRASHED || isUp(said))) {
      return new Outcome(Reason.OUT_OF_MEMORY, Reason.OUT_OF_MEMORY.sentence());
    }
    if (gate != null && said != null && !isUp(said)) {
      return new Outcome(said, text(gate.getMessage(), said));
    }
    if (end == null) {
      var status = pod.getStatus();
      var why = status == null ? null : status.getReason();
      return new Outcome(
          failed() ? Reason.CRASHED : Reason.STOPPED,
          why == null
              ? "The pod ended."
              : "The pod ended: " + why + ": " + text(status.getMessage(), Reason.CRASHED));
    }
    var reason = failed() ? Reason.CRASHED : Reason.STOPPED;
    var message = end.getMessage() == null ? "" : " " + end.getMessage().strip();
    return new Outcome(
        reason, failed() ? "Exit status " + end.getExitCode() + "." + message : reason.sentence());
  }

  private static boolean isUp(Reason reason) {
    return reason == Reason.RUNNING || reason == Reason.STARTING || reason == Reason.DISK_FULL;
  }

  /** A reason and what there is to say about it. */
  record Outcome(Reason reason, String message) {}

  private static String text(@Nullable String message, Reason reason) {
    return message == null || message.isBlank() ? reason.sentence() : message.strip();
  }

  private static @Nullable Reason reason(@Nullable String word) {
    return Arrays.stream(Reason.values())
        .filter(reason -> reason.word().equals(word))
        .findFirst()
        .orElse(null);
  }

  private static @Nullable Instant time(@Nullable String text) {
    try {
      return text == null ? null : OffsetDateTime.parse(text).toInstant();
    } catch (DateTimeException e) {
      return null;
    }
  }
}
