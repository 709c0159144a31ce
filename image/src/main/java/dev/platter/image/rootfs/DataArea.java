package dev.platter.image.rootfs;

import dev.platter.image.qcow2.Clusters;
import dev.platter.image.qcow2.Qcow2Appender;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.util.Arrays;

/** Writes what a layer adds, block after block, from the tree's next one on. */
final class DataArea {
  private final FileTree tree;
  private final Qcow2Appender disk;
  private final byte[] cluster = new byte[Clusters.SIZE];
  private long address;
  private int filled;

  DataArea(FileTree tree, Qcow2Appender disk) {
    tree.alignData();
    this.tree = tree;
    this.disk = disk;
    this.address = (long) tree.nextBlock() * Geometry.BLOCK;
  }

  /** Returns the first of the blocks that hold these bytes, and zeros after them. */
  int write(InputStream in, long size) throws IOException {
    int first = tree.take(size);
    for (long left = size; left > 0; ) {
      int n = in.read(cluster, filled, (int) Math.min(left, cluster.length - filled));
      if (n < 0) {
        throw new EOFException("a file ends " + left + " bytes too early");
      }
      left -= n;
      advance(n);
    }
    pad(Geometry.BLOCK);
    return first;
  }

  int write(byte[] bytes) throws IOException {
    return write(new java.io.ByteArrayInputStream(bytes), bytes.length);
  }

  private void advance(int n) throws IOException {
    filled += n;
    if (filled == cluster.length) {
      disk.append(address, ByteBuffer.wrap(cluster));
      Arrays.fill(cluster, (byte) 0);
      address += cluster.length;
      filled = 0;
    }
  }

  private void pad(int unit) throws IOException {
    int rest = -filled & (unit - 1);
    Arrays.fill(cluster, filled, filled + rest, (byte) 0);
    advance(rest);
  }

  /** Writes the rest of the last cluster. */
  void finish() throws IOException {
    if (filled > 0) {
      pad(cluster.length);
    }
  }
}
