package dev.platter.node.move;

import dev.platter.image.qcow2.Clusters;
import dev.platter.image.qcow2.OverlayAssembly;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.Arrays;

/**
 * Puts together what an {@link OverlaySender} sends. Each chunk is checked before it is written,
 * and all of it at the end, those that were there before included.
 */
final class OverlayReceiver {
  private static final int FLUSH_EVERY = 64;

  /** Bytes after which what was written is synced while more comes. */
  private static final long SYNC_EVERY = 64L << 20;

  /** Is told how far it is. */
  interface Progress {
    void bytes(long done, long total);
  }

  private final Contents contents;
  private final OverlayAssembly disk;
  private final Progress progress;
  private final byte[] digests;
  private long written;

  OverlayReceiver(Contents contents, OverlayAssembly disk, Progress progress) {
    this.contents = contents;
    this.disk = disk;
    this.progress = progress;
    this.digests = new byte[contents.chunks() * Contents.DIGEST];
  }

  void receive(DataInputStream in, DataOutputStream out) throws IOException {
    tell(out);
    try (var syncing = new Syncing(disk);
        var pipeline = new Pipeline(chunk -> written(chunk, syncing))) {
      for (var i = 0; i < contents.chunks(); i++) {
        var chunk = pipeline.next();
        chunk.number = i;
        chunk.length = contents.length(i);
        read(in, chunk);
        pipeline.submit(chunk, this::write);
      }
      pipeline.drain();
    }
    var root = new byte[Contents.DIGEST];
    in.readFully(root);
    if (!Arrays.equals(root, contents.root(digests))) {
      throw new IOException("what came is not what was sent");
    }
  }

  /** What an earlier attempt left. */
  private void tell(DataOutputStream out) throws IOException {
    var count = Math.ceilDiv(disk.present(), Contents.CHUNK_CLUSTERS);
    out.writeInt(count);
    try (var pipeline =
        new Pipeline(
            chunk -> {
              note(chunk);
              out.write(chunk.digest);
              if (chunk.number % FLUSH_EVERY == 0) {
                out.flush();
              }
            })) {
      for (var i = 0; i < count; i++) {
        var chunk = pipeline.next();
        chunk.number = i;
        chunk.length = contents.length(i);
        pipeline.submit(
            chunk,
            it -> {
              var bytes = ByteBuffer.wrap(it.plain, 0, it.length);
              disk.read(Contents.first(it.number), bytes);
              it.hash();
            });
      }
      pipeline.drain();
    }
    out.flush();
  }

  private void note(Chunk chunk) {
    System.arraycopy(chunk.digest, 0, digests, chunk.number * Contents.DIGEST, Contents.DIGEST);
  }

  private static void read(DataInputStream in, Chunk chunk) throws IOException {
    chunk.form = in.readByte();
    chunk.digest = new byte[Contents.DIGEST];
    in.readFully(chunk.digest);
    switch (chunk.form) {
      case Chunk.SAME -> {}
      case Chunk.PLAIN -> in.readFully(chunk.plain, 0, chunk.length);
      case Chunk.PACKED -> {
        chunk.packedLength = in.readInt();
        if (chunk.packedLength < 0 || chunk.packedLength > chunk.packed.length) {
          throw new IOException("a chunk of " + chunk.packedLength + " bytes");
        }
        in.readFully(chunk.packed, 0, chunk.packedLength);
      }
      default -> throw new IOException("a chunk of the form " + chunk.form);
    }
  }

  private void write(Chunk chunk) throws IOException {
    if (chunk.form == Chunk.SAME) {
      return; // If it is not, the digest of all shows it.
    }
    if (chunk.form == Chunk.PACKED) {
      Packing.unpack(chunk.packed, chunk.packedLength, chunk.plain, chunk.length);
    }
    var sent = chunk.digest;
    chunk.hash();
    if (!Arrays.equals(sent, chunk.digest)) {
      throw new IOException("chunk " + chunk.number + " is not what was sent");
    }
    disk.write(Contents.first(chunk.number), ByteBuffer.wrap(chunk.plain, 0, chunk.length));
  }

  private void written(Chunk chunk, Syncing syncing) {
    if (chunk.form != Chunk.SAME) {
      note(chunk);
    }
    written += chunk.length;
    if (written % SYNC_EVERY < chunk.length) {
      syncing.ask();
    }
    progress.bytes(written, (long) contents.addresses().length * Clusters.SIZE);
  }
}
