package dev.platter.image.seekable;

import com.fasterxml.jackson.core.JsonProcessingException;
import dev.platter.image.BadImageException;
import dev.platter.image.Chunk;
import dev.platter.image.ChunkedFile;
import dev.platter.image.oci.Digest;
import dev.platter.image.oci.Printable;
import dev.platter.image.tar.TarEntry;
import dev.platter.image.tar.TarReader;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.security.MessageDigest;
import java.util.List;
import java.util.zip.GZIPInputStream;
import org.jspecify.annotations.Nullable;

/**
 * A layer whose disk can be read in pieces, as its table of contents says. Takes any eStargz with
 * one regular file in {@code /disk}, not only what {@link SeekableLayerWriter} writes.
 *
 * <p>Trust goes from the manifest to the digest of the table of contents ({@link
 * LayerAnnotations#tocDigest}), from there to the digest of each chunk. Nothing is returned whose
 * digest was not checked. What the table says is checked as well: it may come from an enemy who
 * signed it.
 *
 * <p>Left out: zstd:chunked, several files in one gzip member ({@code innerOffset}) where one is
 * the disk, and the footer of eStargz's predecessor. Such a layer is still an ordinary layer.
 */
public final class SeekableLayer implements ChunkedFile {
  /** How many bytes at the end of a layer {@link #findFooter} needs. */
  public static final int FOOTER_SIZE = Estargz.FOOTER_SIZE;

  private final String name;
  private final long size;
  private final List<Chunk> chunks;

  SeekableLayer(String name, long size, List<Chunk> chunks) {
    this.name = name;
    this.size = size;
    this.chunks = List.copyOf(chunks);
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
   * Reads the table of contents.
   *
   * @param member the bytes of the layer at {@code position}
   * @param tocDigest what the manifest says
   */
  public static SeekableLayer open(byte[] member, TocPosition position, Digest tocDigest)
      throws BadImageException {
    if (member.length != position.length()) {
      throw refused("%d bytes instead of %d".formatted(member.length, position.length()), null);
    }
    try {
      Digest found = hash(toc(member));
      if (!found.equals(tocDigest)) {
        throw new BadImageException("its digest is " + found + ", the manifest says " + tocDigest);
      }
      var table = new ChunkTable(position.offset());
      TocReader.read(toc(member), table);
      return table.finish();
    } catch (BadImageException e) {
      throw refused(String.valueOf(e.getMessage()), e);
    } catch (JsonProcessingException e) {
      throw refused("it is not valid JSON: " + Printable.of(e.getOriginalMessage()), e);
    } catch (IOException e) {
      // All bytes are in memory: whatever fails is their fault.
      throw refused("it cannot be read: " + Printable.of(String.valueOf(e.getMessage())), e);
    }
  }

  private static BadImageException refused(String why, @Nullable Throwable cause) {
    return new BadImageException("the layer's table of contents is refused: " + why, cause);
  }

  private static InputStream toc(byte[] member) throws IOException {
    var tar = new TarReader(new GZIPInputStream(new ByteArrayInputStream(member), 64 << 10));
    TarEntry entry = tar.next();
    if (entry == null || entry.type() != TarEntry.Type.FILE || !entry.name().equals(Estargz.TOC)) {
      throw new BadImageException("there is no " + Estargz.TOC + " at its place");
    }
    if (entry.size() > Estargz.MAX_TOC_JSON) {
      throw new BadImageException(
          "it has %d bytes, %d is the most".formatted(entry.size(), Estargz.MAX_TOC_JSON));
    }
    return tar.content();
  }

  private static Digest hash(InputStream in) throws IOException {
    MessageDigest hash = Digest.sha256();
    byte[] buffer = new byte[64 << 10];
    for (int n = in.read(buffer); n >= 0; n = in.read(buffer)) {
      hash.update(buffer, 0, n);
    }
    return Digest.finish(hash);
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
    return unpack(chunk, blobBytes);
  }

  /** As our writer packs; if others do not, the length mostly tells. */
  @Override
  public byte @Nullable [] pack(Chunk chunk, byte[] plain) {
    byte[] member = GzipMember.of(plain);
    return member.length == chunk.blobLength() ? member : null;
  }

  /** Unpacks and verifies a chunk, which {@code blobBytes} start with. */
  static byte[] unpack(Chunk chunk, byte[] blobBytes) throws BadImageException {
    byte[] plain;
    try (var gzip = new GZIPInputStream(new ByteArrayInputStream(blobBytes), 16 << 10)) {
      // No more than the chunk: in layers of others its member goes on with padding and headers.
      plain = gzip.readNBytes(chunk.plainSize());
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
