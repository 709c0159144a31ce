package dev.platter.node;

import com.fasterxml.jackson.annotation.JsonIgnore;
import dev.platter.plan.StateLayout;
import java.nio.file.Path;
import java.util.Objects;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/**
 * What a node writes down of a VM that leaves it.
 *
 * @param id of this move and no other
 * @param node the other node's name on a cluster; null on one machine
 * @param state where the other node's state is
 * @param run where its sockets are
 * @param libvirt which it uses; empty is Platter's own
 * @param handed whether the other may have let the guest run
 */
record Departure(
    UUID id, @Nullable String node, String state, String run, String libvirt, boolean handed) {
  Departure {
    Objects.requireNonNull(id, "it has no id");
    Objects.requireNonNull(state, "it does not say where to");
    Objects.requireNonNull(run, "it does not say where to");
    Objects.requireNonNull(libvirt, "it has no libvirt");
  }

  Departure hand() {
    return new Departure(id, node, state, run, libvirt, true);
  }

  @JsonIgnore
  StateLayout layout() {
    return new StateLayout(Path.of(state), Path.of(run));
  }
}
