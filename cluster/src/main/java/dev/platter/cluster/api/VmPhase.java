package dev.platter.cluster.api;

import com.fasterxml.jackson.annotation.JsonCreator;
import com.fasterxml.jackson.annotation.JsonValue;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/** Where a VM is in its life, in one word for people; programs look at the conditions. */
public enum VmPhase {
  /** It has no pod: none was made yet, or none can be. */
  PENDING("Pending"),
  /** No node has its pod yet. */
  SCHEDULING("Scheduling"),
  /** A node makes its disks and starts it. */
  STARTING("Starting"),
  /** The guest runs. */
  RUNNING("Running"),
  /** The guest was asked to shut down, or what it leaves is removed. */
  STOPPING("Stopping"),
  /** It does not run, and is not to. */
  STOPPED("Stopped"),
  /** The program of its container image has ended well, and is not to run again. */
  SUCCEEDED("Succeeded"),
  /** It does not run, and nothing will be tried until somebody changes something. */
  FAILED("Failed");

  private final String word;

  VmPhase(String word) {
    this.word = word;
  }

  @JsonValue
  public String word() {
    return word;
  }

  /** Null for a word of a later version: an object must not be unreadable for it. */
  @JsonCreator
  static @Nullable VmPhase of(String word) {
    return Arrays.stream(values())
        .filter(phase -> phase.word.equals(word))
        .findFirst()
        .orElse(null);
  }
}
