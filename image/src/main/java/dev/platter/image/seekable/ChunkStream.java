package dev.platter.image.seekable;

import dev.platter.image.Chunk;
import dev.platter.image.Digest;
import java.io.IOException;
import java.io.OutputStream;
import java.security.MessageDigest;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;

/** Cuts the disk file into chunks and notes where each of them went. Closing it writes the last. */
final class ChunkStream extends OutputStream {
  private final MemberWriter members;
  private final int chunkSize;
  private final long fileSize;
  private final PackProgress progress;
  private final MessageDigest whole = Digest.sha256();
  private final List<Chunk> chunks = new ArrayList<>();
  private byte[] buffer;
  private int filled;
  private long fileOffset;

  ChunkStream(MemberWriter members, int chunkSize, long fileSize, PackProgress progress) {
    this.members = members;
    this.chunkSize = chunkSize;
    this.fileSize = fileSize;
    this.progress = progress;
    this.buffer = new byte[chunkSize];
  }

  @Override
  public void write(int b) throws IOException {
    write(new byte[] {(byte) b}, 0, 1);
  }

  @Override
  public void write(byte[] bytes, int start, int length) throws IOException {
    for (int done = 0; done < length; ) {
      int n = Math.min(length - done, chunkSize - filled);
      System.arraycopy(bytes, start + done, buffer, filled, n);
      filled += n;
      done += n;
      if (filled == chunkSize) {
        addChunk();
      }
    }
  }

  @Override
  public void close() throws IOException {
    if (filled > 0) {
      addChunk();
    }
    members.flush();
  }

  /** All chunks, in order; complete when the stream is closed. */
  List<Chunk> written() {
    return Collections.unmodifiableList(chunks);
  }

  /** Of the file; to be asked once, when the stream is closed. */
  Digest digest() {
    return Digest.finish(whole);
  }

  private void addChunk() throws IOException {
    byte[] plain = filled == chunkSize ? buffer : Arrays.copyOf(buffer, filled);
    long offset = fileOffset;
    whole.update(plain);
    members.add(
        plain,
        (blobOffset, blobLength, digest) -> {
          chunks.add(new Chunk(offset, plain.length, blobOffset, blobLength, digest));
          progress.packed(offset + plain.length, fileSize);
        });
    fileOffset += plain.length;
    buffer = new byte[chunkSize];
    filled = 0;
  }
}
