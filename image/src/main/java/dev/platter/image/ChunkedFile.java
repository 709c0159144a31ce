package dev.platter.image;

import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The disk file of a layer, readable in chunks: what to fetch of the blob for some bytes of the
 * file, and how to unpack and verify what was fetched. Holds no bytes itself; any number of threads
 * may use it.
 */
public interface ChunkedFile {
  /** No chunk unpacks to more: a layer with larger ones has to be read as a stream. */
  int MAX_CHUNK = 16 << 20;

  /** The name of the file in the layer. */
  String name();

  /** The size of the disk file, which is not that of the disk in it. */
  long size();

  /** All chunks, in order: each begins in the file where the one before it ends. */
  List<Chunk> chunks();

  /**
   * Unpacks and verifies a chunk.
   *
   * @param blobBytes the bytes of the layer that the chunk names
   * @return exactly the bytes of the chunk
   */
  byte[] decode(Chunk chunk, byte[] blobBytes) throws BadImageException;

  /**
   * The bytes of the layer that a chunk was made from, told from the chunk: possible where writers
   * always pack alike. No more than a guess until the digest of the layer confirms it.
   *
   * @return null if there is no telling
   */
  default byte @Nullable [] pack(Chunk chunk, byte[] plain) {
    return null;
  }

  /** The index of the chunk that holds a byte of the disk file. */
  default int chunkAt(long fileOffset) {
    if (fileOffset < 0 || fileOffset >= size()) {
      throw new IndexOutOfBoundsException("byte " + fileOffset + " of " + size());
    }
    int low = 0;
    int high = chunks().size() - 1;
    while (low < high) {
      int middle = (low + high + 1) >>> 1;
      if (chunks().get(middle).fileOffset() <= fileOffset) {
        low = middle;
      } else {
        high = middle - 1;
      }
    }
    return low;
  }
}
