package dev.platter.node;

import dev.platter.model.SecretData;
import dev.platter.plan.NetworkDisk;
import java.io.IOException;
import java.nio.file.Path;

/** Reads disks behind QEMU's network drivers, for what is done before QEMU itself opens them. */
interface NetworkReader {
  /** The size in bytes. */
  long size(NetworkDisk disk, SecretData secrets) throws IOException;

  /** How large a copy gets of a disk of this size. */
  interface Sizing {
    long of(long size);
  }

  /** Writes all bytes into a new sparse file, which is on the disk when this returns. */
  void copy(NetworkDisk disk, SecretData secrets, Path to, Sizing sizing) throws IOException;
}
