package dev.platter.image.seekable;

import dev.platter.image.BadImageException;
import dev.platter.image.Chunk;
import dev.platter.image.ChunkedFile;
import dev.platter.image.Digest;
import dev.platter.image.Printable;
import java.util.ArrayList;
import java.util.List;
import java.util.function.LongUnaryOperator;

/** Collects the chunks of one file of a table of contents. */
final class FileChunks {
  /** Digests of zeros are made for chunks of this size, and for the rest of a hole. */
  private static final int HOLE = ChunkedFile.MAX_CHUNK;

  private static final class FullHole {
    static final Digest DIGEST = Digest.of(new byte[HOLE]);
  }

  private record Part(
      long fileOffset, int size, long blobOffset, int inner, Digest digest, boolean hole) {}

  private final String name;
  private final long size;
  private final List<Part> parts = new ArrayList<>();
  private long covered;
  private boolean chunked = true;

  FileChunks(String name, long size) {
    this.name = name;
    this.size = size;
  }

  String name() {
    return name;
  }

  long size() {
    return size;
  }

  long covered() {
    return covered;
  }

  void add(long blobOffset, int inner, int length, Digest digest) {
    parts.add(new Part(covered, length, blobOffset, inner, digest, false));
    covered += length;
  }

  /**
   * A hole that is larger than a chunk may be becomes several. Returns how many chunks that is
   * worth: the last one has to be hashed, which an enemy could want a million times.
   */
  int addHole(long blobOffset, long length) {
    int added = 0;
    for (long left = length; left > 0; added++) {
      int n = (int) Math.min(left, HOLE);
      Digest digest = n == HOLE ? FullHole.DIGEST : Digest.of(new byte[n]);
      if (added <= Estargz.MAX_CHUNKS) {
        parts.add(new Part(covered, n, blobOffset, 0, digest, true));
      }
      covered += n;
      left -= n;
    }
    return added + (int) (length % HOLE >> 16);
  }

  void addUnreadable(long length) {
    chunked = false;
    covered += length;
  }

  boolean isChunked() {
    return chunked && size > 0;
  }

  void checkCovered() throws BadImageException {
    if (covered != size) {
      throw new BadImageException(
          "the chunks of %s end at byte %d of %d".formatted(Printable.of(name), covered, size));
    }
  }

  /**
   * @param ends where what starts at a byte of the blob ends
   */
  SeekableLayer build(Packing packing, LongUnaryOperator ends) {
    var chunks = new ArrayList<Chunk>(parts.size());
    int[] inner = new int[parts.size()];
    for (Part part : parts) {
      // What follows the last chunk of a file may be any number of headers: not to be fetched.
      long plain = (long) part.inner + part.size;
      long enough = plain + plain / 8 + (64 << 10);
      long length = Math.min(ends.applyAsLong(part.blobOffset) - part.blobOffset, enough);
      inner[chunks.size()] = part.hole ? SeekableLayer.HOLE : part.inner;
      // A hole needs no bytes, but who fetches need not know: one is as good as none.
      chunks.add(
          new Chunk(
              part.fileOffset,
              part.size,
              part.blobOffset,
              part.hole ? 1 : (int) length,
              part.digest));
    }
    return new SeekableLayer(name, size, chunks, inner, packing);
  }
}
