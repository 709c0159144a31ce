package dev.platter.node;

import java.io.IOException;

/** A VM on its way to a node, of which it holds the lock there until this is closed. */
interface Arriving extends AutoCloseable {
  /** A way to where its QEMU waits for the contents of disks. */
  Link openDisks() throws IOException;

  /** A way to where its QEMU waits for memory. */
  Link openMemory() throws IOException;

  /** Waits until all of it is there. */
  void complete() throws IOException;

  /** From here on the VM is that node's. */
  void decide() throws IOException;

  /** Lets the guest run. */
  void run() throws IOException;

  /** Records that the VM is up. */
  void finish() throws IOException;

  @Override
  void close() throws IOException;
}
