package dev.platter.image.seekable;

import dev.platter.image.BadImageException;
import dev.platter.image.ChunkedFile;
import dev.platter.image.Digest;
import dev.platter.image.Printable;
import dev.platter.image.seekable.TocReader.Entry;
import dev.platter.image.tar.TarEntry;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Takes the entries of a table of contents in their order and keeps the chunks of its files.
 * Refuses entries that leave the layer, go backwards or overlap, and files that are not covered
 * from their first to their last byte. A file with chunks that are too large, too many or without a
 * digest is kept without them: it can only be read with the whole layer.
 */
final class ChunkTable {
  /** Larger than any layer; keeps arithmetic far from overflow. */
  static final long MAX_NUMBER = 1L << 50;

  private static final int MAX_ENTRIES = 1 << 20;
  private static final long MAX_NAMES = 16 << 20;

  /** What may have to be unpacked and thrown away before a chunk in a shared member. */
  private static final int MAX_SKIP = 64 << 20;

  private final Packing packing;
  private final long end;
  private final List<TarEntry> entries = new ArrayList<>();
  private final Map<Integer, FileChunks> files = new HashMap<>();
  private long[] members = new long[64];
  private int memberCount;
  private int chunks;
  private @Nullable FileChunks file;
  private String lastName = "";
  private String lastNormalised = TarEntry.normalise("");
  private long lastOffset;
  private long lastInner;
  private long count;
  private long nameLength;

  /**
   * @param end where in the blob chunks have to end, which is where the table of contents starts
   */
  ChunkTable(Packing packing, long end) {
    this.packing = packing;
    this.end = end;
  }

  void add(Entry entry) throws BadImageException {
    count++;
    String name = normalised(entry.name());
    TarEntry.@Nullable Type type =
        switch (entry.type()) {
          case "reg" -> TarEntry.Type.FILE;
          case "dir" -> TarEntry.Type.DIRECTORY;
          case "hardlink" -> TarEntry.Type.HARD_LINK;
          case "symlink" -> TarEntry.Type.SYMBOLIC_LINK;
          case "char", "block", "fifo" -> TarEntry.Type.OTHER;
          case "chunk" -> null;
          default ->
              throw refused(entry, "its type '" + Printable.of(entry.type()) + "' is unknown");
        };
    if (type != null) {
      nameLength += entry.name().length() + entry.linkName().length();
      if (entries.size() >= MAX_ENTRIES || nameLength > MAX_NAMES) {
        throw refused(entry, "there are too many entries or too long names");
      }
      long size = type == TarEntry.Type.FILE ? entry.size() : 0;
      startFile(type == TarEntry.Type.FILE ? new FileChunks(name, size) : null);
      entries.add(new TarEntry(name, type, size, entry.linkName()));
    } else if (file == null || !name.equals(file.name())) {
      throw refused(entry, "it is a chunk of a file that is not the one before it");
    }
    if (entry.hasData() && file != null) {
      place(entry);
      openChunk(entry, file);
    }
  }

  /** All chunks of a file have its name. */
  private String normalised(String name) {
    if (!name.equals(lastName)) {
      lastName = name;
      lastNormalised = TarEntry.normalise(name);
    }
    return lastNormalised;
  }

  private void startFile(@Nullable FileChunks next) throws BadImageException {
    if (file != null) {
      file.checkCovered();
    }
    file = next;
    if (next != null) {
      files.put(entries.size(), next);
    }
  }

  /** Members follow each other; several small files may share one, at an inner offset. */
  private void place(Entry entry) throws BadImageException {
    boolean shares = entry.offset() == lastOffset && entry.innerOffset() > lastInner;
    if (!shares && (entry.offset() <= lastOffset || entry.offset() >= end)) {
      throw refused(
          entry,
          "its offset %d is not between %d and %d".formatted(entry.offset(), lastOffset, end));
    }
    if (entry.offset() > lastOffset) {
      members = memberCount < members.length ? members : Arrays.copyOf(members, 2 * memberCount);
      members[memberCount++] = entry.offset();
    }
    lastOffset = entry.offset();
    lastInner = entry.innerOffset();
  }

  private void openChunk(Entry entry, FileChunks file) throws BadImageException {
    if (entry.chunkOffset() != file.covered()) {
      throw refused(
          entry,
          "it starts at byte %d of the file, the chunk before it ends at %d"
              .formatted(entry.chunkOffset(), file.covered()));
    }
    long left = file.size() - file.covered();
    long size = entry.chunkSize() == 0 ? left : entry.chunkSize();
    if (size <= 0 || size > left) {
      throw refused(
          entry, "%d bytes at %d of a file of %d".formatted(size, file.covered(), file.size()));
    }
    boolean hole = packing.hasHoles() && entry.chunkType().equals("zeros");
    @Nullable Digest digest =
        entry.chunkDigest() == null && size == file.size() ? entry.digest() : entry.chunkDigest();
    if (hole && size > ChunkedFile.MAX_CHUNK) {
      chunks += file.addHole(entry.offset(), size);
    } else if (size > ChunkedFile.MAX_CHUNK || entry.innerOffset() > MAX_SKIP || digest == null) {
      file.addUnreadable(size);
    } else {
      file.add(entry.offset(), (int) entry.innerOffset(), (int) size, digest);
      chunks++;
    }
    if (chunks > Estargz.MAX_CHUNKS) {
      throw refused(entry, "there are more than " + Estargz.MAX_CHUNKS + " chunks");
    }
  }

  /** The table, when all entries were added. */
  Toc finish() throws BadImageException {
    startFile(null);
    var chunked = new HashMap<Integer, SeekableLayer>();
    files.forEach(
        (entry, found) -> {
          if (found.isChunked()) {
            chunked.put(entry, found.build(packing, this::endOf));
          }
        });
    return new Toc(entries, chunked);
  }

  /** Where the member ends that starts at {@code offset}: at the next one. */
  private long endOf(long offset) {
    int next = Arrays.binarySearch(members, 0, memberCount, offset) + 1;
    return next < memberCount ? members[next] : end;
  }

  private BadImageException refused(Entry entry, String why) {
    return new BadImageException(
        "entry %d (%s): %s".formatted(count, Printable.of(entry.name()), why));
  }
}
