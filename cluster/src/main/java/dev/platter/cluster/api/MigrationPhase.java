package dev.platter.cluster.api;

import com.fasterxml.jackson.annotation.JsonCreator;
import com.fasterxml.jackson.annotation.JsonValue;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/** How far a migration is, in one word for people; programs look at the conditions. */
public enum MigrationPhase {
  /** It waits for the VM, or for another migration of it. */
  PENDING,
  /** The VM's pod on the other node is being started. */
  PREPARING,
  /** The node that the VM leaves sends it. */
  MOVING,
  /** The VM runs on the other node. */
  SUCCEEDED,
  /** The VM is where it was. */
  FAILED;

  public boolean ended() {
    return this == SUCCEEDED || this == FAILED;
  }

  @JsonValue
  public String word() {
    return name().charAt(0) + name().substring(1).toLowerCase(java.util.Locale.ROOT);
  }

  /** Null if it is none of ours. */
  @JsonCreator
  static @Nullable MigrationPhase of(String word) {
    return Arrays.stream(values())
        .filter(phase -> phase.word().equals(word))
        .findFirst()
        .orElse(null);
  }
}
