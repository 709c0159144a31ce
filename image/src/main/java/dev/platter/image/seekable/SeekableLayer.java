package dev.platter.image.seekable;

import dev.platter.image.BadImageException;
import dev.platter.image.Chunk;
import dev.platter.image.ChunkedFile;
import dev.platter.image.Digest;
import dev.platter.image.Printable;
import dev.platter.image.tar.TarEntry;
import java.io.IOException;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A file of a layer that can be read in pieces, as the layer's table of contents says. Nothing is
 * returned whose digest was not checked.
 */
public final class SeekableLayer implements ChunkedFile {
  /** How many bytes at the end of a layer {@link #findFooter} needs. */
  public static final int FOOTER_SIZE = Estargz.FOOTER_SIZE;

  /** In place of an inner offset: zeros, whatever the layer has. */
  static final int HOLE = -1;

  private static final String DIRECTORY = "disk/";

  private final String name;
  private final long size;
  private final List<Chunk> chunks;
  private final int[] inner;
  private final Packing packing;

  SeekableLayer(String name, long size, List<Chunk> chunks, int[] inner, Packing packing) {
    this.name = name;
    this.size = size;
    this.chunks = List.copyOf(chunks);
    this.inner = inner;
    this.packing = packing;
  }

  /** Finds the table of contents by the last 51 bytes of a layer. */
  public static TocPosition findFooter(byte[] last51, long blobSize) throws IOException {
    long offset = Footer.parse(last51);
    if (offset <= 0 || offset >= blobSize - FOOTER_SIZE) {
      throw new BadImageException(
          "the layer's footer is refused: offset %s in a layer of %d bytes"
              .formatted(Long.toUnsignedString(offset), blobSize));
    }
    return TocPosition.of(offset, blobSize - FOOTER_SIZE - offset, blobSize, "the layer's footer");
  }

  /**
   * The disk of an eStargz that is all of an image: its only file in {@code /disk}.
   *
   * @param member the bytes of the layer at {@code position}
   * @param tocDigest what the manifest says
   */
  public static ChunkedFile open(byte[] member, TocPosition position, Digest tocDigest)
      throws BadImageException {
    Toc toc = Toc.ofEstargz(member, position, tocDigest);
    int found = -1;
    for (int i = 0; i < toc.entries().size(); i++) {
      TarEntry entry = toc.entries().get(i);
      boolean inDisk =
          entry.name().startsWith(DIRECTORY)
              && entry.name().indexOf('/', DIRECTORY.length()) < 0
              && entry.type() != TarEntry.Type.DIRECTORY
              && !entry.name().startsWith(DIRECTORY + ".wh.");
      if (inDisk && found >= 0) {
        throw Toc.refused(
            "%s is a second file in /disk".formatted(Printable.of(entry.name())), null);
      }
      found = inDisk ? i : found;
    }
    if (found < 0) {
      throw Toc.refused("it has no file in /disk", null);
    }
    String name = Printable.of(toc.entries().get(found).name());
    return toc.file(found)
        .orElseThrow(() -> Toc.refused("%s cannot be read in chunks".formatted(name), null));
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
    return chunks;
  }

  @Override
  public byte[] decode(Chunk chunk, byte[] blobBytes) throws BadImageException {
    int skip = inner[chunkAt(chunk.fileOffset())];
    return skip == HOLE ? new byte[chunk.plainSize()] : unpack(packing, chunk, skip, blobBytes);
  }

  /** As our writer packs; if others do not, the length mostly tells. */
  @Override
  public byte @Nullable [] pack(Chunk chunk, byte[] plain) {
    if (packing != Packing.GZIP) {
      return null;
    }
    byte[] member = GzipMember.of(plain);
    return member.length == chunk.blobLength() ? member : null;
  }

  /** Unpacks and verifies a chunk, which {@code blobBytes} start with. */
  static byte[] unpack(Packing packing, Chunk chunk, int skip, byte[] blobBytes)
      throws BadImageException {
    byte[] plain;
    try {
      plain = packing.unpack(blobBytes, skip, chunk.plainSize());
    } catch (IOException e) {
      throw refused(chunk, "it cannot be unpacked: " + e.getMessage(), e);
    }
    if (plain.length < chunk.plainSize()) {
      throw refused(
          chunk, "it unpacks to %d of %d bytes".formatted(plain.length, chunk.plainSize()), null);
    }
    Digest found = Digest.of(plain);
    if (!found.equals(chunk.digest())) {
      throw refused(
          chunk, "its digest is " + found + ", the table of contents says " + chunk.digest(), null);
    }
    return plain;
  }

  private static BadImageException refused(Chunk chunk, String why, @Nullable Throwable cause) {
    return new BadImageException(
        "the chunk at byte %d of the disk file, %d bytes at %d of the layer, is refused: %s"
            .formatted(chunk.fileOffset(), chunk.blobLength(), chunk.blobOffset(), why),
        cause);
  }
}
