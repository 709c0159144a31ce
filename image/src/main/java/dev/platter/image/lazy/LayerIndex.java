package dev.platter.image.lazy;

import dev.platter.image.BadImageException;
import dev.platter.image.ChunkedFile;
import dev.platter.image.Digest;
import dev.platter.image.gzip.GzipIndex;
import dev.platter.image.oci.Descriptor;
import dev.platter.image.tar.TarEntry;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * What is known of a layer that was read once: the headers of its tar, and how to read its larger
 * files in chunks if that is possible. It was made after the whole layer matched its digest and its
 * diff_id, so whoever trusts who made it can trust the layer chunk by chunk.
 */
public final class LayerIndex {
  /** Files that are smaller and not in /disk are no disk; their digests would only take room. */
  private static final long WORTH_CHUNKS = 1 << 20;

  /** A full system has half of it; bounds the memory that a hostile layer takes. */
  private static final long MAX_NAMES = 16 << 20;

  /**
   * One header of the tar.
   *
   * @param offset of the content in the tar
   */
  record Item(TarEntry entry, long offset) {}

  private final Digest layer;
  private final Digest diffId;
  private final LayerFormat format;
  private final long plainSize;
  private final List<Item> items;
  private final Map<Integer, byte[]> grids;
  private final @Nullable GzipIndex gzip;

  LayerIndex(
      Digest layer,
      Digest diffId,
      LayerFormat format,
      long plainSize,
      List<Item> items,
      Map<Integer, byte[]> grids,
      @Nullable GzipIndex gzip) {
    this.layer = layer;
    this.diffId = diffId;
    this.format = format;
    this.plainSize = plainSize;
    this.items = List.copyOf(items);
    this.grids = new TreeMap<>(grids);
    this.gzip = gzip;
  }

  /** Reads the stored form, or refuses it. The bytes must not change from then on. */
  public static LayerIndex read(ByteBuffer stored) throws IOException {
    return IndexCodec.read(stored);
  }

  /** Writes the stored form, the same for the same layer. */
  public void writeTo(OutputStream out) throws IOException {
    IndexCodec.write(this, out);
  }

  /** The digest of the layer's blob. */
  public Digest layer() {
    return layer;
  }

  /** The digest of the layer's tar. */
  public Digest diffId() {
    return diffId;
  }

  LayerFormat format() {
    return format;
  }

  long plainSize() {
    return plainSize;
  }

  List<Item> items() {
    return items;
  }

  Map<Integer, byte[]> grids() {
    return grids;
  }

  @Nullable GzipIndex gzip() {
    return gzip;
  }

  List<TarEntry> entries() {
    return items.stream().map(Item::entry).toList();
  }

  static boolean isWorthChunks(TarEntry entry) {
    return entry.size() >= WORTH_CHUNKS || Overlay.isInDisk(entry.name());
  }

  /** The file of an entry; empty if it cannot be read in chunks. */
  Optional<ChunkedFile> file(int number) {
    Item item = items.get(number);
    if (item.entry.type() != TarEntry.Type.FILE || item.entry.size() == 0) {
      return Optional.empty();
    }
    if (gzip != null) {
      return GzipFile.of(gzip, item.entry.name(), item.offset, item.entry.size());
    }
    byte @Nullable [] grid = grids.get(number);
    return grid == null || format == LayerFormat.ZSTD
        ? Optional.empty()
        : Optional.of(new PlainFile(item.entry.name(), item.entry.size(), item.offset, grid));
  }

  /** Collects what a pass finds. */
  static final class Builder {
    private final Descriptor layer;
    private final LayerFormat format;
    private final List<Item> items = new ArrayList<>();
    private final Map<Integer, GridDigests> grids = new TreeMap<>();
    private long nameLength;

    Builder(Descriptor layer, LayerFormat format) {
      this.layer = layer;
      this.format = format;
    }

    /** Returns the number of the entry. */
    int entry(TarEntry entry, long offset) throws IOException {
      nameLength += entry.name().length() + entry.linkName().length();
      if (items.size() >= IndexCodec.MAX_ENTRIES || nameLength > MAX_NAMES) {
        throw new BadImageException(
            "layer %s has more than %d entries, or names of more than %d bytes"
                .formatted(layer.digest(), IndexCodec.MAX_ENTRIES, MAX_NAMES));
      }
      items.add(new Item(entry, offset));
      return items.size() - 1;
    }

    /** Where its digests go; null if they would be of no use. */
    @Nullable GridDigests startFile(int entry) {
      if (format == LayerFormat.ZSTD) {
        return null;
      }
      var grid = new GridDigests();
      grids.put(entry, grid);
      return grid;
    }

    LayerIndex build(Digest diffId, long plainSize, @Nullable GzipIndex gzip) {
      var digests = new TreeMap<Integer, byte[]>();
      grids.forEach((entry, grid) -> digests.put(entry, grid.bytes()));
      return new LayerIndex(layer.digest(), diffId, format, plainSize, items, digests, gzip);
    }
  }
}
