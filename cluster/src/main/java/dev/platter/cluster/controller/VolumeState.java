package dev.platter.cluster.controller;

import dev.platter.cluster.api.Condition;
import dev.platter.cluster.api.Conditions;
import dev.platter.cluster.api.DataVolume;
import dev.platter.cluster.api.DataVolumePhase;
import dev.platter.cluster.api.FillPhase;
import dev.platter.cluster.api.FilledClaim;
import dev.platter.cluster.api.Reason;
import io.fabric8.kubernetes.api.model.PersistentVolumeClaim;
import io.fabric8.kubernetes.api.model.Pod;
import java.time.Instant;
import org.jspecify.annotations.Nullable;

/**
 * How far a DataVolume is, as CDI's clients understand it.
 *
 * @param claim its claim; null if there is none
 * @param running whether a pod is at work
 * @param progress how much of the file has come; null if nobody knows
 * @param attempts how often it has failed
 */
record VolumeState(
    DataVolumePhase phase,
    @Nullable PersistentVolumeClaim claim,
    boolean running,
    @Nullable String progress,
    @Nullable Integer attempts,
    Reason reason,
    String message) {
  private static final String UNKNOWN_PROGRESS = "N/A";

  static VolumeState of(DataVolumePhase phase, Reason reason, String message) {
    return new VolumeState(phase, null, false, null, null, reason, message);
  }

  /** Of one whose claim is there, and that no pod fills. */
  static VolumeState of(
      DataVolumePhase phase, PersistentVolumeClaim claim, Reason reason, String message) {
    return new VolumeState(phase, claim, false, null, null, reason, message);
  }

  /**
   * Of one whose claim a pod fills, with a disk that is fetched or sent.
   *
   * @param pod the one that does so, if it is there
   */
  static VolumeState filled(
      PersistentVolumeClaim claim, FilledClaim said, @Nullable Pod pod, boolean sent) {
    var started = pod != null && new PodView(pod).started();
    var ready = pod != null && SourcePods.ready(pod);
    var reason = said.reason() == null ? Reason.FILLING : Reason.of(said.reason());
    var message = said.message() == null ? "The claim was made." : said.message();
    var scheduled = sent ? DataVolumePhase.UPLOAD_SCHEDULED : DataVolumePhase.IMPORT_SCHEDULED;
    var phase =
        switch (said.phase()) {
          case null -> DataVolumePhase.PENDING;
          case WAITING -> waiting(reason);
          case RETRYING -> scheduled;
          case FILLING ->
              sent
                  ? ready ? DataVolumePhase.UPLOAD_READY : scheduled
                  : started || said.progress() != null
                      ? DataVolumePhase.IMPORT_IN_PROGRESS
                      : scheduled;
          case FILLED -> DataVolumePhase.SUCCEEDED;
        };
    var running = said.phase() == FillPhase.FILLING && (sent ? ready : started);
    return new VolumeState(
        phase, claim, running, said.progress(), said.attempts(), reason, message);
  }

  private static DataVolumePhase waiting(Reason reason) {
    return switch (reason) {
      case WAITING_FOR_CONSUMER -> DataVolumePhase.WAIT_FOR_FIRST_CONSUMER;
      case BOUND_ELSEWHERE, DISK_LOST -> DataVolumePhase.FAILED;
      default -> DataVolumePhase.PENDING;
    };
  }

  DataVolume.Status status(DataVolume volume, Instant now) {
    var bound = claim != null && PrimeClaim.isBound(claim);
    var conditions =
        new Conditions(volume.said().conditions(), volume.getMetadata().getGeneration(), now)
            .add(DataVolume.BOUND, bound, reason, message)
            .add(Condition.READY, phase == DataVolumePhase.SUCCEEDED, reason, message)
            .add(DataVolume.RUNNING, running, reason, message)
            .all();
    return new DataVolume.Status(
        claim == null ? null : claim.getMetadata().getName(),
        phase,
        phase == DataVolumePhase.SUCCEEDED ? "100.0%" : shown(progress),
        attempts,
        conditions);
  }

  /** CDI has one digit behind the point. */
  private static String shown(@Nullable String progress) {
    return progress == null || !progress.matches("[0-9]+%")
        ? UNKNOWN_PROGRESS
        : progress.replace("%", ".0%");
  }
}
