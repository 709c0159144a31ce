package dev.platter.image.qcow2;

import dev.platter.image.stream.Canvas;
import java.io.IOException;
import java.nio.ByteBuffer;

/** Unpacks clusters of a qcow2 that passes by. */
final class PackedClusters implements AutoCloseable {
  private final Header header;
  private final Canvas canvas;
  private final Decompressor decompressor;
  private final ByteBuffer padded;
  private final ByteBuffer cluster;

  PackedClusters(Header header, Canvas canvas) {
    this.header = header;
    this.canvas = canvas;
    this.decompressor = header.compression().decompressor();
    this.padded = ByteBuffer.allocateDirect(2 * header.clusterSize());
    this.cluster = ByteBuffer.allocateDirect(header.clusterSize());
  }

  void add(long guest, ByteBuffer packed, long host) throws IOException {
    padded.clear().put(packed);
    // As QEMU has it: zeros past the end of the file.
    Workspace.zero(padded, Math.min(padded.remaining(), 512));
    if (!decompressor.fill(padded.flip(), cluster.clear())) {
      throw Refused.at(
          host,
          "compressed data does not unpack to a cluster of " + header.clusterSize() + " bytes");
    }
    canvas.write(guest, cluster.clear());
  }

  void finish() {}

  @Override
  public void close() {
    decompressor.close();
  }
}
