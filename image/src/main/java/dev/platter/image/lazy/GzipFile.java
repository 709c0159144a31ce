package dev.platter.image.lazy;

import dev.platter.image.BadImageException;
import dev.platter.image.Chunk;
import dev.platter.image.ChunkedFile;
import dev.platter.image.gzip.GzipIndex;
import dev.platter.image.gzip.GzipResume;
import java.io.IOException;
import java.util.AbstractList;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.RandomAccess;

/** A file in an ordinary gzip stream: a chunk is a span of it, as far as it is in the file. */
record GzipFile(GzipIndex index, String name, long size, long offset, int first, int count)
    implements ChunkedFile {

  /** Empty if a chunk would be too large: the stream has too few places to start at. */
  static Optional<ChunkedFile> of(GzipIndex index, String name, long offset, long size) {
    int first = index.pieceAt(offset);
    int last = index.pieceAt(offset + size - 1);
    if (index.piece(first).start() != offset || index.piece(last).end() != offset + size) {
      return Optional.empty();
    }
    for (int i = first; i <= last; i++) {
      GzipIndex.Piece piece = index.piece(i);
      if (piece.end() - piece.start() > MAX_CHUNK || !index.isWithinLimits(i)) {
        return Optional.empty();
      }
    }
    return Optional.of(new GzipFile(index, name, size, offset, first, last - first + 1));
  }

  @Override
  public List<Chunk> chunks() {
    return new Chunks();
  }

  @Override
  public byte[] decode(Chunk chunk, byte[] blobBytes) throws BadImageException {
    try {
      return new GzipResume(index).decode(first + chunkAt(chunk.fileOffset()), blobBytes);
    } catch (IOException e) {
      // All bytes are in memory: whatever fails is their fault.
      throw PlainFile.refused(chunk, String.valueOf(e.getMessage()));
    }
  }

  private final class Chunks extends AbstractList<Chunk> implements RandomAccess {
    @Override
    public Chunk get(int number) {
      GzipIndex.Piece piece = index.piece(first + Objects.checkIndex(number, count));
      return new Chunk(
          piece.start() - offset,
          (int) (piece.end() - piece.start()),
          piece.packed().start(),
          piece.packed().length(),
          piece.digest());
    }

    @Override
    public int size() {
      return count;
    }
  }
}
