package dev.platter.node;

import dev.platter.node.move.Credentials;
import dev.platter.node.move.MoveSource;
import java.time.Duration;
import java.util.UUID;

/**
 * Where a running VM goes on a cluster.
 *
 * @param move of this move and no other; the {@link Whereabouts} know it
 * @param node the other node's name
 * @param peer where its daemon is
 * @param own who we are to it
 * @param perGib how long each GiB of its memory and of the disks that are copied may take
 */
public record Journey(UUID move, String node, MoveSource peer, Credentials own, Duration perGib) {
  /** As long as it may take if nobody says otherwise. */
  public static final Duration PER_GIB = Duration.ofSeconds(150);
}
