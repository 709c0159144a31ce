package dev.platter.node;

/** How far the move of a running VM is. */
public enum MigrationStage {
  /** The node that it leaves has written down where it goes. */
  RECORDED,
  /** At the other node a QEMU with empty disks waits for it. */
  PREPARED,
  /** The disks have been copied, and what the guest writes goes to both. */
  MIRRORED,
  /** The guest stands still; both copies of the disks are the same. */
  PAUSED,
  /** The other QEMU has all of it, and both stand still. */
  SENT,
  /** The node that it leaves has written down that the other may let it run. */
  HANDED,
  /** The VM is the other node's, whatever happens now. */
  DECIDED,
  /** The guest runs there. */
  RUNNING
}
