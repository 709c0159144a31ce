package dev.platter.cluster.node;

/** How a node has the disk of an identity. */
enum IdentityHold {
  NONE,
  READY,
  /** All of it, and another node may have a copy by now. */
  LEAVING,
  /** Some of it or all; nobody was told yet that it is here. */
  COMING
}
