package dev.platter.image.qcow2;

import java.io.IOException;
import java.nio.ByteBuffer;
import org.jspecify.annotations.Nullable;

/**
 * What one thread needs to read an image: buffers of its own (at most 8 MiB, made when first
 * needed) and a decompressor. Remembers the last cluster it unpacked, since small reads come in
 * sequence.
 */
final class Workspace implements AutoCloseable {
  /** No smaller than a cluster can be. */
  private static final int COPY_BUFFER = 2 << 20;

  /** Devices are written from whole pages. */
  private static final int PAGE = 4096;

  private static final byte[] ZEROS = new byte[8192];

  final ExtentWalk walk;
  private final Tables tables;
  private final Decompressor decompressor;
  private @Nullable ByteBuffer packed;
  private @Nullable ByteBuffer cluster;
  private @Nullable ByteBuffer copy;
  private long unpackedHost = -1;

  Workspace(Tables tables) {
    this.tables = tables;
    this.walk = new ExtentWalk(tables);
    this.decompressor = tables.header.compression().decompressor();
  }

  /** The cluster packed at {@code host}; the buffer is good until the next call. */
  ByteBuffer unpacked(long host, int length) throws IOException {
    ByteBuffer out = cluster;
    if (out == null) {
      out = ByteBuffer.allocateDirect(tables.header.clusterSize());
      cluster = out;
    }
    if (host != unpackedHost) {
      unpackedHost = -1;
      unpack(host, length, out.clear());
      unpackedHost = host;
    }
    return out.clear();
  }

  /** Fills a direct buffer of a cluster's size from what is packed at {@code host}. */
  void unpack(long host, int length, ByteBuffer out) throws IOException {
    ByteBuffer in = packed;
    if (in == null) {
      // The largest length an entry can express.
      in = ByteBuffer.allocateDirect(2 * tables.header.clusterSize());
      packed = in;
    }
    in.clear().limit(length);
    // Zeros past the end, as QEMU has it, or else we would take streams that it does not.
    readPadded(in, host);
    if (!decompressor.fill(in.flip(), out)) {
      throw Refused.at(
          host,
          "compressed data does not unpack to a cluster of "
              + tables.header.clusterSize()
              + " bytes");
    }
  }

  /** A buffer for copies of at least a cluster; what it holds stays until the next call. */
  ByteBuffer copyBuffer() {
    ByteBuffer buffer = copy;
    if (buffer == null) {
      buffer = ByteBuffer.allocateDirect(COPY_BUFFER + PAGE).alignedSlice(PAGE);
      copy = buffer;
    }
    return buffer.clear();
  }

  /** Fills a buffer from the file; bytes past its end are zeros. */
  void readPadded(ByteBuffer into, long host) throws IOException {
    if (!tables.file.readAvailable(into, host)) {
      zero(into, into.remaining());
    }
  }

  static void zero(ByteBuffer into, int length) {
    for (int left = length; left > 0; ) {
      int n = Math.min(left, ZEROS.length);
      into.put(ZEROS, 0, n);
      left -= n;
    }
  }

  @Override
  public void close() {
    decompressor.close();
  }
}
