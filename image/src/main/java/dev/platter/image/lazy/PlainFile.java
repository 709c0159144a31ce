package dev.platter.image.lazy;

import dev.platter.image.BadImageException;
import dev.platter.image.Chunk;
import dev.platter.image.ChunkedFile;
import dev.platter.image.Digest;
import java.util.AbstractList;
import java.util.List;
import java.util.Objects;
import java.util.RandomAccess;

/** A file that lies in its layer as it is: a chunk is the bytes themselves. */
final class PlainFile implements ChunkedFile {
  private final String name;
  private final long size;
  private final long offset;
  private final byte[] digests;

  PlainFile(String name, long size, long offset, byte[] digests) {
    this.name = name;
    this.size = size;
    this.offset = offset;
    this.digests = digests;
  }

  @Override
  public String name() {
    return name;
  }

  @Override
  public long size() {
    return size;
  }

  @Override
  public List<Chunk> chunks() {
    return new Chunks();
  }

  @Override
  public byte[] decode(Chunk chunk, byte[] blobBytes) throws BadImageException {
    Digest found = Digest.of(blobBytes);
    if (!found.equals(chunk.digest())) {
      throw refused(chunk, "its digest is " + found + ", the index says " + chunk.digest());
    }
    return blobBytes.clone();
  }

  static BadImageException refused(Chunk chunk, String why) {
    return new BadImageException(
        "the chunk at byte %d of the disk file, %d bytes at %d of the layer, is refused: %s"
            .formatted(chunk.fileOffset(), chunk.blobLength(), chunk.blobOffset(), why));
  }

  private final class Chunks extends AbstractList<Chunk> implements RandomAccess {
    @Override
    public Chunk get(int index) {
      Objects.checkIndex(index, size());
      long at = (long) index * GridDigests.CHUNK;
      int length = (int) Math.min(GridDigests.CHUNK, PlainFile.this.size - at);
      Digest digest = new Digest(digests, index * GridDigests.BYTES);
      return new Chunk(at, length, offset + at, length, digest);
    }

    @Override
    public int size() {
      return digests.length / GridDigests.BYTES;
    }
  }
}
