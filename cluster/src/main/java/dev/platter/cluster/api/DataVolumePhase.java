package dev.platter.cluster.api;

import com.fasterxml.jackson.annotation.JsonCreator;
import com.fasterxml.jackson.annotation.JsonValue;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/** How far a {@link DataVolume} is, in the words of CDI that its clients wait for. */
public enum DataVolumePhase {
  /** Nothing has begun. */
  PENDING("Pending"),
  /** The storage class makes the volume when a pod wants the claim. */
  WAIT_FOR_FIRST_CONSUMER("WaitForFirstConsumer"),
  /** There is going to be a pod that takes the disk. */
  UPLOAD_SCHEDULED("UploadScheduled"),
  /** The disk can be sent. */
  UPLOAD_READY("UploadReady"),
  /** There is going to be a pod that fetches the disk, perhaps once more. */
  IMPORT_SCHEDULED("ImportScheduled"),
  IMPORT_IN_PROGRESS("ImportInProgress"),
  /** A driver copies the volume of another claim. */
  CSI_CLONE_IN_PROGRESS("CSICloneInProgress"),
  CLONE_FROM_SNAPSHOT_IN_PROGRESS("CloneFromSnapshotSourceInProgress"),
  /** The claim is bound, and the disk is on it. */
  SUCCEEDED("Succeeded"),
  /** It is not going to be. */
  FAILED("Failed");

  private final String word;

  DataVolumePhase(String word) {
    this.word = word;
  }

  @JsonValue
  public String word() {
    return word;
  }

  /** Null if it is none that we say. */
  @JsonCreator
  static @Nullable DataVolumePhase of(String word) {
    return Arrays.stream(values())
        .filter(phase -> phase.word.equals(word))
        .findFirst()
        .orElse(null);
  }
}
