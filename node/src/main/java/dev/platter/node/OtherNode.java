package dev.platter.node;

import dev.platter.plan.VmKey;
import java.io.IOException;

/** The node that a VM was moving to, for who has to end a move that was begun. */
interface OtherNode {
  /**
   * Of a VM that was handed over: whether it is that node's. If it is not, there is nothing of it
   * there that could ever run.
   */
  boolean settle(VmKey key) throws IOException;

  /** Of a VM that was not handed over: takes away what is there of it. */
  void undo(VmKey key) throws IOException;

  /** This node has seen what became of the VM. */
  void forget(VmKey key) throws IOException;
}
