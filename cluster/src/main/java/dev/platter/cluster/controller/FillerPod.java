package dev.platter.cluster.controller;

import dev.platter.cluster.api.Condition;
import dev.platter.cluster.api.Names;
import dev.platter.cluster.api.Reason;
import dev.platter.cluster.api.VmImage;
import io.fabric8.kubernetes.api.model.PersistentVolumeClaim;
import io.fabric8.kubernetes.api.model.Pod;
import io.fabric8.kubernetes.api.model.PodBuilder;
import io.fabric8.kubernetes.api.model.PodCondition;
import io.fabric8.kubernetes.api.model.Quantity;
import java.time.Duration;
import java.time.Instant;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * A pod that runs no VM but is written like one: the image is its root disk, the claim another. So
 * the webhook makes an ordinary launcher pod of it, the scheduler places it where the claim can be
 * used, the kubelet maps the claim, and the image is pulled with the logins of its namespace. An
 * annotation tells the node's daemon to write the one disk to the other instead of starting a VM.
 *
 * <p>Its container is started again until it succeeds, later each time, by the kubelet.
 */
final class FillerPod {
  /** Longer than Kubernetes takes to get a volume away from a node that is gone. */
  private static final Duration SHORTEST_PATIENCE = Duration.ofMinutes(7);

  /** The first may come after days of waiting for something else. */
  private static final Duration LONGEST_PATIENCE = Duration.ofHours(1);

  static final String SIZE = "-size";
  static final String FILL = "-fill";

  /** The guest's, which there is none of. */
  private static final Quantity MEMORY = new Quantity("16Mi");

  private FillerPod() {}

  /** Looks up how large the image is. */
  static Pod size(VmImage image) {
    return pod(image, SIZE, Names.FILL_NOTHING).build();
  }

  static Pod fill(VmImage image, PersistentVolumeClaim claim) {
    return pod(image, FILL, claim.getMetadata().getUid())
        .editSpec()
        .addNewVolume()
        .withName("image")
        .withNewPersistentVolumeClaim(claim.getMetadata().getName(), false)
        .endVolume()
        .endSpec()
        .build();
  }

  private static PodBuilder pod(VmImage image, String suffix, String fill) {
    return new PodBuilder()
        .withMetadata(
            Owned.metadata(image, image.getMetadata().getName() + suffix)
                .addToLabels(Names.IMAGE, image.getMetadata().getName())
                .addToAnnotations(Names.TARGET_RUNTIME, Names.OUR_RUNTIME)
                .addToAnnotations(Names.FILL, fill)
                .build())
        .withNewSpec()
        .withRestartPolicy("OnFailure")
        .withTerminationGracePeriodSeconds(5L)
        .addNewContainer()
        .withName("fill")
        .withImage(Names.OUR_RUNTIME + "/" + image.image())
        .withNewResources()
        .addToLimits("memory", MEMORY)
        .endResources()
        .endContainer()
        .endSpec();
  }

  /** Whether it was made to fill this claim, and not one of the same name before it. */
  static boolean isFor(Pod pod, PersistentVolumeClaim claim) {
    return claim.getMetadata().getUid().equals(pod.getMetadata().getAnnotations().get(Names.FILL));
  }

  static boolean succeeded(Pod pod) {
    return "Succeeded".equals(pod.getStatus().getPhase());
  }

  /** Such as one that was evicted; nobody starts it again. */
  static boolean failed(Pod pod) {
    return "Failed".equals(pod.getStatus().getPhase());
  }

  /**
   * Whether it is on a node, and cannot begin there for so long that it should be made anew: a
   * kubelet repeats only what failed, and a driver that was killed may have lost a step that it had
   * answered for before, as csi-driver-host-path does. Another pod begins with the first step. Each
   * has twice the time of the one before, up to an hour, as storage may be slow.
   *
   * @param begun when the first of them may have been made; all times are the control plane's
   */
  static boolean isStuck(Pod pod, Instant begun, Instant now) {
    var half = Duration.between(begun, now).toSeconds() / 2;
    var patience = Math.clamp(half, SHORTEST_PATIENCE.toSeconds(), LONGEST_PATIENCE.toSeconds());
    var status = pod.getStatus();
    return "Pending".equals(status.getPhase())
        && condition(pod, Condition.POD_SCHEDULED)
            .filter(said -> "True".equals(said.getStatus()))
            .map(PodCondition::getLastTransitionTime)
            .filter(since -> now.isAfter(Instant.parse(since).plusSeconds(patience)))
            .isPresent()
        && status.getContainerStatuses().stream()
            .map(container -> container.getState().getWaiting())
            .anyMatch(waits -> waits != null && "ContainerCreating".equals(waits.getReason()));
  }

  /** The size that it found. */
  static @Nullable Long sizeOf(Pod pod) {
    return condition(pod, Names.IMAGE_SIZE)
        .map(PodCondition::getMessage)
        .filter(text -> text.matches("[1-9][0-9]{0,17}"))
        .map(Long::valueOf)
        .orElse(null);
  }

  /** What it does, or what keeps it from doing so. */
  static Said says(Pod pod) {
    var gate = condition(pod, Names.RUNNING_GATE).filter(said -> said.getMessage() != null);
    if (gate.isPresent()) {
      return new Said(Reason.of(gate.get().getReason()), gate.get().getMessage());
    }
    return condition(pod, Condition.POD_SCHEDULED)
        .filter(said -> "False".equals(said.getStatus()) && said.getMessage() != null)
        .map(said -> new Said(Reason.WAITING_FOR_NODE, said.getMessage()))
        .orElse(new Said(Reason.IMPORTING, "The pod " + pod.getMetadata().getName() + " starts."));
  }

  record Said(Reason reason, String message) {}

  private static Optional<PodCondition> condition(Pod pod, String type) {
    return pod.getStatus().getConditions().stream()
        .filter(condition -> condition.getType().equals(type))
        .findFirst();
  }
}
