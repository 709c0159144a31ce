package dev.platter.node;

import java.util.Objects;
import java.util.UUID;

/**
 * What a node writes down of a VM that comes to it. It stays until the node that the VM comes from
 * has seen it, be the VM gone by then, and until the VM has come up.
 *
 * @param id of the move, which the other node's {@link Departure} has too
 * @param from where the other node's state is, or on a cluster its name
 * @param decided whether the VM is this node's
 * @param cluster whether the {@link Whereabouts} say so first, and this follows
 */
record Arrival(UUID id, String from, boolean decided, boolean cluster) {
  Arrival {
    Objects.requireNonNull(id, "it has no id");
    Objects.requireNonNull(from, "it does not say from where");
  }

  Arrival decide() {
    return new Arrival(id, from, true, cluster);
  }
}
