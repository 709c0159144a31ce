package dev.platter.block.base;

import dev.platter.image.BadImageException;
import dev.platter.image.Digest;
import java.io.Closeable;
import java.io.EOFException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Arrays;
import java.util.Map;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * Which blocks of a sealed base the chunks of its layer are: a file of digests in order, each with
 * the place of its list of block numbers. It is searched where it lies, so that a node with many
 * bases needs no memory for them. A wrong index does no harm: what it leads to is hashed before
 * use.
 */
final class ChunkIndex implements Closeable {
  private static final long MAGIC = 0x504c544958303031L; // PLTIX001
  private static final int HEADER = 8 + 8;
  private static final int ENTRY = 32 + 8 + 4;
  private static final int MOST_BLOCKS = 256;

  private final FileChannel file;
  private final long entries;

  private ChunkIndex(FileChannel file) throws IOException {
    this.file = file;
    ByteBuffer header = read(0, HEADER);
    this.entries = header.getLong() == MAGIC ? header.getLong() : -1;
    if (entries < 0 || entries > (file.size() - HEADER) / ENTRY) {
      throw new BadImageException("the index of chunks is damaged");
    }
  }

  static ChunkIndex open(Path path) throws IOException {
    FileChannel file = FileChannel.open(path, StandardOpenOption.READ);
    try {
      return new ChunkIndex(file);
    } catch (Throwable e) {
      file.close();
      throw e;
    }
  }

  /** What is to be written for these chunks. */
  static ByteBuffer encode(Map<Digest, int[]> chunks) {
    var sorted = new TreeMap<>(chunks);
    long lists = HEADER + (long) ENTRY * sorted.size();
    long end = lists + 4L * sorted.values().stream().mapToLong(b -> b.length).sum();
    ByteBuffer bytes = ByteBuffer.allocate(Math.toIntExact(end));
    bytes.putLong(MAGIC).putLong(sorted.size());
    long list = lists;
    for (Map.Entry<Digest, int[]> chunk : sorted.entrySet()) {
      bytes.put(chunk.getKey().bytes());
      bytes.putLong(list).putInt(chunk.getValue().length);
      list += 4L * chunk.getValue().length;
    }
    sorted.values().forEach(blocks -> Arrays.stream(blocks).forEach(bytes::putInt));
    return bytes.flip();
  }

  /** Null if the chunk is not here. */
  int @Nullable [] blocks(Digest digest) throws IOException {
    byte[] wanted = digest.bytes();
    long low = 0;
    long high = entries - 1;
    while (low <= high) {
      long middle = (low + high) >>> 1;
      ByteBuffer entry = read(HEADER + middle * ENTRY, ENTRY);
      byte[] found = new byte[32];
      entry.get(found);
      int order = Arrays.compareUnsigned(found, wanted);
      if (order == 0) {
        return list(entry.getLong(), entry.getInt());
      } else if (order < 0) {
        low = middle + 1;
      } else {
        high = middle - 1;
      }
    }
    return null;
  }

  private int[] list(long at, int count) throws IOException {
    if (count < 1 || count > MOST_BLOCKS || at < HEADER || at > file.size() - 4L * count) {
      throw new BadImageException("the index of chunks is damaged");
    }
    int[] blocks = new int[count];
    read(at, 4 * count).asIntBuffer().get(blocks);
    return Arrays.stream(blocks).anyMatch(b -> b < 0) ? new int[0] : blocks;
  }

  private ByteBuffer read(long position, int length) throws IOException {
    ByteBuffer bytes = ByteBuffer.allocate(length);
    if (!Fully.read(file, bytes, position)) {
      throw new EOFException("the index of chunks is cut");
    }
    return bytes.flip();
  }

  @Override
  public void close() throws IOException {
    file.close();
  }
}
