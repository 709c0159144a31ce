package dev.platter.node.move;

import dev.platter.image.qcow2.ClusterReader;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.function.BooleanSupplier;

/**
 * Sends what an overlay holds to somebody who may have some of it already:
 *
 * <pre>
 *   to the receiver    contents: which clusters there are
 *   from the receiver  n, and the digests of the first n chunks as it has them
 *   to the receiver    for each chunk: its form, its digest, and if it is not the same its bytes
 *   to the receiver    a digest of all
 * </pre>
 *
 * So there is nothing to write down for the case that a connection breaks or a machine fails:
 * whatever the receiver still has is compared, and what is not the same is sent.
 */
final class OverlaySender {
  private final ClusterReader disk;
  private final Contents contents;
  private final BooleanSupplier lent;

  /**
   * @param lent whether it may still be sent
   */
  OverlaySender(ClusterReader disk, BooleanSupplier lent) {
    this.disk = disk;
    this.contents = new Contents(disk.virtualSize(), disk.addresses());
    this.lent = lent;
  }

  void send(DataInputStream in, DataOutputStream out) throws IOException {
    contents.write(out);
    out.flush();
    var theirs = digests(in);
    var digests = new byte[contents.chunks() * Contents.DIGEST];
    try (var pipeline = new Pipeline(chunk -> send(chunk, digests, out))) {
      for (var i = 0; i < contents.chunks(); i++) {
        var chunk = pipeline.next();
        chunk.number = i;
        pipeline.submit(chunk, it -> prepare(it, theirs, pipeline));
        if (!lent.getAsBoolean()) {
          throw new IOException("the disk does not move any more");
        }
      }
      pipeline.drain();
    }
    out.write(contents.root(digests));
    out.flush();
  }

  private byte[] digests(DataInputStream in) throws IOException {
    var count = in.readInt();
    if (count < 0 || count > contents.chunks()) {
      throw new IOException(count + " chunks of " + contents.chunks());
    }
    var out = new byte[count * Contents.DIGEST];
    in.readFully(out);
    return out;
  }

  private void prepare(Chunk chunk, byte[] theirs, Pipeline pipeline) throws IOException {
    chunk.length = contents.length(chunk.number);
    disk.read(Contents.first(chunk.number), ByteBuffer.wrap(chunk.plain, 0, chunk.length));
    chunk.hash();
    var at = chunk.number * Contents.DIGEST;
    if (at < theirs.length
        && Arrays.equals(theirs, at, at + Contents.DIGEST, chunk.digest, 0, Contents.DIGEST)) {
      chunk.form = Chunk.SAME;
      return;
    }
    // Where the link is faster than we are there is nothing to be gained.
    chunk.packedLength =
        pipeline.isAhead() ? Packing.pack(chunk.plain, chunk.length, chunk.packed) : -1;
    chunk.form = chunk.packedLength < 0 ? Chunk.PLAIN : Chunk.PACKED;
  }

  private static void send(Chunk chunk, byte[] digests, DataOutputStream out) throws IOException {
    System.arraycopy(chunk.digest, 0, digests, chunk.number * Contents.DIGEST, Contents.DIGEST);
    out.writeByte(chunk.form);
    out.write(chunk.digest);
    switch (chunk.form) {
      case Chunk.PLAIN -> out.write(chunk.plain, 0, chunk.length);
      case Chunk.PACKED -> {
        out.writeInt(chunk.packedLength);
        out.write(chunk.packed, 0, chunk.packedLength);
      }
      default -> out.flush(); // It may be long until there is more to say.
    }
  }
}
