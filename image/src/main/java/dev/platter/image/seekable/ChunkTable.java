package dev.platter.image.seekable;

import dev.platter.image.BadImageException;
import dev.platter.image.Chunk;
import dev.platter.image.oci.Digest;
import dev.platter.image.oci.Printable;
import dev.platter.image.seekable.TocReader.Entry;
import dev.platter.image.tar.TarEntry;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Takes the entries of a table of contents in their order and keeps the chunks of the one file in
 * {@code disk/}. Refuses entries that leave the layer, go backwards or overlap, chunks that are too
 * large or have no digest, and a disk that is not covered from its first to its last byte.
 */
final class ChunkTable {
  /** Larger than any layer; keeps arithmetic far from overflow. */
  static final long MAX_NUMBER = 1L << 50;

  private static final String DIRECTORY = "disk";
  private static final String WHITEOUT = ".wh.";

  /** A chunk whose end in the blob is not known before the next entry with data. */
  private record Open(long fileOffset, int plainSize, long blobOffset, Digest digest) {}

  private final long end;
  private final List<Chunk> chunks = new ArrayList<>();
  private @Nullable String disk;
  private long diskSize;
  private long covered;
  private @Nullable String currentFile;
  private @Nullable Open open;
  private long lastOffset;
  private long entries;

  /**
   * @param end where in the blob chunks have to end, which is where the table of contents starts
   */
  ChunkTable(long end) {
    this.end = end;
  }

  void add(Entry entry) throws BadImageException {
    entries++;
    String name = TarEntry.normalise(entry.name());
    switch (entry.type()) {
      case "reg" -> {
        currentFile = name;
        if (isInDirectory(name)) {
          startDisk(name, entry);
        }
      }
      case "chunk" -> {
        if (!name.equals(currentFile)) {
          throw refused(entry, "it is a chunk of a file that is not the one before it");
        }
      }
      case "dir" -> currentFile = null;
      case "symlink", "hardlink", "char", "block", "fifo" -> {
        currentFile = null;
        if (name.equals(DIRECTORY) || isInDirectory(name)) {
          throw refused(entry, "the disk must be a regular file, not a " + entry.type());
        }
      }
      default -> throw refused(entry, "its type '" + Printable.of(entry.type()) + "' is unknown");
    }
    if (entry.hasData()) {
      place(entry);
      if (name.equals(disk)) {
        openChunk(entry);
      }
    }
  }

  private static boolean isInDirectory(String name) {
    return name.startsWith(DIRECTORY + "/")
        && name.indexOf('/', DIRECTORY.length() + 1) < 0
        && !name.startsWith(DIRECTORY + "/" + WHITEOUT);
  }

  private void startDisk(String name, Entry entry) throws BadImageException {
    if (disk != null) {
      throw refused(entry, "it is a second file in /disk, after " + Printable.of(disk));
    }
    if (entry.size() == 0) {
      throw refused(entry, "the disk is empty");
    }
    disk = name;
    diskSize = entry.size();
  }

  /** Members follow each other; several small files may share one, at an inner offset. */
  private void place(Entry entry) throws BadImageException {
    if (entry.innerOffset() > 0) {
      if (entry.offset() != lastOffset) {
        throw refused(entry, "it is said to share a member that is not the one before it");
      }
      return;
    }
    if (entry.offset() <= lastOffset || entry.offset() >= end) {
      throw refused(
          entry,
          "its offset %d is not between %d and %d".formatted(entry.offset(), lastOffset, end));
    }
    closeChunk(entry.offset());
    lastOffset = entry.offset();
  }

  private void openChunk(Entry entry) throws BadImageException {
    if (entry.innerOffset() > 0) {
      throw refused(entry, "it shares a gzip member, which is not supported for a disk");
    }
    if (entry.chunkOffset() != covered) {
      throw refused(
          entry,
          "it starts at byte %d of the file, the chunk before it ends at %d"
              .formatted(entry.chunkOffset(), covered));
    }
    long size = entry.chunkSize() == 0 ? diskSize - covered : entry.chunkSize();
    if (size <= 0 || size > diskSize - covered) {
      throw refused(entry, "%d bytes at %d of a file of %d".formatted(size, covered, diskSize));
    }
    if (size > Estargz.MAX_CHUNK) {
      throw refused(
          entry, "a chunk of %d bytes, %d is the most".formatted(size, Estargz.MAX_CHUNK));
    }
    if (chunks.size() >= Estargz.MAX_CHUNKS) {
      throw refused(entry, "the disk has more than " + Estargz.MAX_CHUNKS + " chunks");
    }
    if (entry.chunkDigest().isEmpty()) {
      throw refused(entry, "it has no chunkDigest");
    }
    open = new Open(covered, (int) size, entry.offset(), Digest.parse(entry.chunkDigest()));
    covered += size;
  }

  private void closeChunk(long next) {
    if (open != null) {
      // What follows the last chunk of a file may be any number of headers: not to be fetched.
      long enough = open.plainSize + open.plainSize / 8L + (64 << 10);
      int length = (int) Math.min(next - open.blobOffset, enough);
      chunks.add(new Chunk(open.fileOffset, open.plainSize, open.blobOffset, length, open.digest));
      open = null;
    }
  }

  /** The layer, when all entries were added. */
  SeekableLayer finish() throws BadImageException {
    closeChunk(end);
    if (disk == null) {
      throw new BadImageException("it has no file in /disk");
    }
    if (covered != diskSize) {
      throw new BadImageException(
          "the chunks of %s end at byte %d of %d".formatted(Printable.of(disk), covered, diskSize));
    }
    return new SeekableLayer(disk, diskSize, chunks);
  }

  private BadImageException refused(Entry entry, String why) {
    return new BadImageException(
        "entry %d (%s): %s".formatted(entries, Printable.of(entry.name()), why));
  }
}
