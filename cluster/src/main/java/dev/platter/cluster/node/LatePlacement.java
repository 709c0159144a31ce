package dev.platter.cluster.node;

import dev.platter.node.Placement;
import java.io.IOException;
import java.util.UUID;

/** Stands for one that is known only when the node, which wants it, is there. */
final class LatePlacement implements Placement {
  private volatile Placement placement = Placement.NONE;

  void set(Placement known) {
    placement = known;
  }

  @Override
  public void place(UUID vm, long pid) throws IOException {
    placement.place(vm, pid);
  }
}
