package dev.platter.node.container;

import java.time.Duration;

/**
 * How long a container may take.
 *
 * @param ready from its start until its service answers
 * @param put to make a volume
 * @param delete to delete it
 */
public record Patience(Duration ready, Duration put, Duration delete) {
  public static final Patience USUAL =
      new Patience(Duration.ofMinutes(1), Duration.ofMinutes(5), Duration.ofMinutes(2));
}
