package dev.platter.cluster.controller;

import dev.platter.cluster.api.ClaimSource;
import dev.platter.cluster.api.DiskUpload;
import dev.platter.cluster.api.FillPhase;
import dev.platter.cluster.api.FilledClaim;
import dev.platter.cluster.api.Reason;
import dev.platter.cluster.api.UploadSecret;
import dev.platter.cluster.controller.Population.Look;
import dev.platter.node.x509.Authority;
import io.fabric8.kubernetes.api.model.PersistentVolumeClaim;
import io.fabric8.kubernetes.api.model.Pod;
import io.fabric8.kubernetes.client.KubernetesClientException;
import java.net.HttpURLConnection;
import java.util.Optional;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Pods that fill claims, from when they are made until they end: why one has not started, what it
 * waits for, and how far it is.
 */
final class PodsAtWork {
  private final Populations cluster;
  private final @Nullable Supplier<Authority> uploads;

  /**
   * @param uploads who signs the certificates of pods that take disks; null if each pod has an
   *     authority of its own, and nobody else knows it
   */
  PodsAtWork(Populations cluster, @Nullable Supplier<Authority> uploads) {
    this.cluster = cluster;
    this.uploads = uploads;
  }

  /** What can be seen of it. */
  Look follow(ClaimSource source, PersistentVolumeClaim prime, Pod pod, FilledClaim before) {
    var view = new PodView(pod);
    var now = before.withPod(pod.getMetadata().getName(), before.progress()).withoutRetry();
    if (!view.started()) {
      if (source instanceof DiskUpload) {
        secret(pod);
      }
      var complaint = PrimeClaim.isBound(prime) ? null : cluster.complaint(prime).orElse(null);
      return complaint == null
          ? new Look(now.at(FillPhase.FILLING, Reason.FILLING, view.obstacle()), Population.LATER)
          : new Look(
              now.at(FillPhase.FILLING, Reason.PROVISIONING_FAILED, complaint), Population.LATER);
    }
    return new Look(
        now.at(FillPhase.FILLING, Reason.FILLING, Reason.FILLING.sentence()), Population.SOON, pod);
  }

  /** A pod without it waits. Nobody here can read it, so it is made until it is there. */
  private void secret(Pod pod) {
    var name = pod.getMetadata().getName();
    var files = uploads == null ? UploadSecret.make(name) : UploadSecret.make(name, uploads.get());
    try {
      cluster.create(SourcePod.secret(pod, name, files));
    } catch (KubernetesClientException e) {
      if (e.getCode() != HttpURLConnection.HTTP_CONFLICT) {
        throw e;
      }
    }
  }

  /** What came of a look at a pod that has been asked; it may not have answered. */
  static Look heard(ClaimSource source, Look look, Optional<Populations.Progress> answer) {
    var now = look.claim();
    var progress = answer.orElse(null);
    // A pod that does not answer may be at its end.
    var silent = progress == null ? now.progress() == null : progress.bytes() == 0;
    if (progress == null || (silent && source instanceof DiskUpload)) {
      var waits = silent && source instanceof DiskUpload;
      var reason = waits ? Reason.WAITING_FOR_UPLOAD : Reason.FILLING;
      return new Look(now.at(FillPhase.FILLING, reason, reason.sentence()), look.again());
    }
    return new Look(now.withPod(now.pod(), percent(progress)), look.again());
  }

  private static String percent(Populations.Progress progress) {
    return progress.total() <= 0
        ? (progress.bytes() >> 20) + "MiB"
        : Math.clamp(progress.bytes() * 100 / progress.total(), 0, 100) + "%";
  }
}
