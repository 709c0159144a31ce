package dev.platter.node.network;

import dev.platter.block.nbd.DiskCopy;
import java.io.IOException;

/** A disk on the network, open for reading over NBD. */
public interface OpenDisk extends DiskCopy.Source, AutoCloseable {
  /** In bytes. */
  long size();

  @Override
  void close() throws IOException;
}
