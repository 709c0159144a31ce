package dev.platter.node;

import dev.platter.plan.VmKey;
import java.io.IOException;

/** Another node of a cluster. It finds out by itself what became of the VM, and so do we. */
record ClusterNode(Departure departure, Whereabouts whereabouts) implements OtherNode {
  @Override
  public boolean settle(VmKey key) throws IOException {
    return whereabouts.hasLeft(key, departure.id());
  }

  /** It notices that nobody talks to it any more. */
  @Override
  public void undo(VmKey key) {}

  @Override
  public void forget(VmKey key) {}
}
