package dev.platter.block.base;

import dev.platter.image.Chunk;
import dev.platter.image.Digest;
import dev.platter.image.raw.NativeFile;
import java.io.Closeable;
import java.io.EOFException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.concurrent.locks.ReadWriteLock;
import java.util.concurrent.locks.ReentrantReadWriteLock;
import org.jspecify.annotations.Nullable;

/**
 * A base that others may take blocks from. Blocks that are there never change, so what was read and
 * found right may be shared afterwards. The lock keeps the file open while somebody does: a file
 * descriptor that is closed may be another file the next moment.
 */
final class Donor implements Closeable {
  /** Which blocks a chunk is made of; null if not all of them are here. */
  @FunctionalInterface
  interface Index {
    int @Nullable [] blocks(Digest digest) throws IOException;
  }

  private final NativeFile raw;
  private final Index index;
  private final ReadWriteLock lock = new ReentrantReadWriteLock();
  private boolean closed;

  Donor(NativeFile raw, Index index) {
    this.raw = raw;
    this.index = index;
  }

  boolean has(Digest digest) {
    lock.readLock().lock();
    try {
      return !closed && index.blocks(digest) != null;
    } catch (IOException e) {
      return false;
    } finally {
      lock.readLock().unlock();
    }
  }

  KnownChunks.@Nullable Known find(Chunk chunk) throws IOException {
    lock.readLock().lock();
    try {
      int[] blocks = closed ? null : index.blocks(chunk.digest());
      if (blocks == null || (long) blocks.length * Base.BLOCK != chunk.plainSize()) {
        return null;
      }
      byte[] bytes = read(blocks);
      return Digest.of(bytes).equals(chunk.digest()) ? new Found(bytes, blocks) : null;
    } finally {
      lock.readLock().unlock();
    }
  }

  private byte[] read(int[] blocks) throws IOException {
    ByteBuffer bytes = ByteBuffer.allocate(blocks.length * Base.BLOCK);
    for (int i = 0; i < blocks.length; i++) {
      bytes.limit((i + 1) * Base.BLOCK);
      if (!Fully.read(raw.channel(), bytes, (long) blocks[i] * Base.BLOCK)) {
        throw new EOFException("a base ends inside block " + blocks[i]);
      }
    }
    return bytes.array();
  }

  private boolean cloneBlock(int block, NativeFile target, long position) {
    lock.readLock().lock();
    try {
      return !closed && target.cloneRange(raw, (long) block * Base.BLOCK, Base.BLOCK, position);
    } finally {
      lock.readLock().unlock();
    }
  }

  private final class Found implements KnownChunks.Known {
    private final byte[] bytes;
    private final int[] blocks;

    Found(byte[] bytes, int[] blocks) {
      this.bytes = bytes;
      this.blocks = blocks;
    }

    @Override
    public byte[] bytes() {
      return bytes;
    }

    @Override
    public boolean cloneBlock(int offset, NativeFile target, long position) {
      return offset % Base.BLOCK == 0
          && Donor.this.cloneBlock(blocks[offset / Base.BLOCK], target, position);
    }
  }

  @Override
  public void close() throws IOException {
    lock.writeLock().lock();
    try {
      if (!closed) {
        closed = true;
        raw.close();
      }
    } finally {
      lock.writeLock().unlock();
    }
  }
}
