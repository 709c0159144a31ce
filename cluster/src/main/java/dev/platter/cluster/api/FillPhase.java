package dev.platter.cluster.api;

import com.fasterxml.jackson.annotation.JsonCreator;
import com.fasterxml.jackson.annotation.JsonValue;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/** How far a claim that is being filled is, in one word for people. */
public enum FillPhase {
  /** Nothing has begun: somebody else has to do something first. */
  WAITING,
  /** A pod writes the disk to a volume, which the claim is going to get. */
  FILLING,
  /** It failed, and is tried again. */
  RETRYING,
  /** The claim has its volume. */
  FILLED;

  @JsonValue
  public String word() {
    return name().charAt(0) + name().substring(1).toLowerCase(java.util.Locale.ROOT);
  }

  /** Null if it is none of ours. */
  @JsonCreator
  static @Nullable FillPhase of(String word) {
    return Arrays.stream(values())
        .filter(phase -> phase.word().equals(word))
        .findFirst()
        .orElse(null);
  }
}
