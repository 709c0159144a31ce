package dev.platter.node;

import dev.platter.plan.VmKey;
import java.io.IOException;
import java.util.UUID;

/**
 * The one record that says which node of a cluster has a VM that moves. A node that asks makes sure
 * at the same time that the answer stays: who is told that the move has not happened can rely on it
 * that this move never will.
 */
public interface Whereabouts {
  /** One machine has no such record: files of its nodes say it. */
  Whereabouts NONE =
      new Whereabouts() {
        @Override
        public void hand(VmKey key, UUID move, String to) {
          throw new IllegalStateException("no cluster");
        }

        @Override
        public void decide(VmKey key, UUID move) {
          throw new IllegalStateException("no cluster");
        }

        @Override
        public boolean hasLeft(VmKey key, UUID move) {
          throw new IllegalStateException("no cluster");
        }

        @Override
        public boolean hasCome(VmKey key, UUID move) {
          throw new IllegalStateException("no cluster");
        }
      };

  /**
   * At the node that it leaves: the other may decide.
   *
   * @param to the other's name
   */
  void hand(VmKey key, UUID move, String to) throws IOException;

  /** At the node that it comes to: from now on it is here. Fails if it was taken back. */
  void decide(VmKey key, UUID move) throws IOException;

  /** Whether the VM is not this node's any more. */
  boolean hasLeft(VmKey key, UUID move) throws IOException;

  /** Whether the VM is this node's by now. */
  boolean hasCome(VmKey key, UUID move) throws IOException;
}
