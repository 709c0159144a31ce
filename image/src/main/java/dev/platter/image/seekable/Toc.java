package dev.platter.image.seekable;

import com.github.luben.zstd.ZstdInputStream;
import dev.platter.image.BadImageException;
import dev.platter.image.ChunkedFile;
import dev.platter.image.Digest;
import dev.platter.image.Printable;
import dev.platter.image.tar.TarEntry;
import dev.platter.image.tar.TarReader;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.security.DigestInputStream;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.zip.GZIPInputStream;
import org.jspecify.annotations.Nullable;

/**
 * The table of contents of a layer: what the headers of its tar say, and where the chunks of its
 * files are. Both kinds are read: eStargz and zstd:chunked.
 *
 * <p>Trust goes from the manifest to the digest of the table, from there to the digest of each
 * chunk. What the table says is checked as well: it may come from an enemy who signed it.
 */
public final class Toc {
  private final List<TarEntry> entries;
  private final Map<Integer, SeekableLayer> files;

  Toc(List<TarEntry> entries, Map<Integer, SeekableLayer> files) {
    this.entries = List.copyOf(entries);
    this.files = Map.copyOf(files);
  }

  /** All entries, in the order of the tar. */
  public List<TarEntry> entries() {
    return entries;
  }

  /** The file of an entry; empty if it has none, or none that can be read in chunks. */
  public Optional<ChunkedFile> file(int entry) {
    return Optional.ofNullable(files.get(entry));
  }

  /**
   * Reads the table of an eStargz.
   *
   * @param member the bytes of the layer at {@code position}
   * @param digest of the table, as the manifest says
   */
  public static Toc ofEstargz(byte[] member, TocPosition position, Digest digest)
      throws BadImageException {
    if (member.length != position.length()) {
      throw refused("%d bytes instead of %d".formatted(member.length, position.length()), null);
    }
    return read(
        new ChunkTable(Packing.GZIP, position.offset()),
        table -> readVerified(estargz(member), digest, table));
  }

  /**
   * Reads the table of a zstd:chunked layer.
   *
   * @param packed the bytes of the layer at {@code position}
   */
  public static Toc ofZstdChunked(byte[] packed, ZstdToc position) throws BadImageException {
    if (packed.length != position.length()) {
      throw refused("%d bytes instead of %d".formatted(packed.length, position.length()), null);
    }
    return read(
        new ChunkTable(Packing.ZSTD, position.offset()),
        table -> {
          check(Digest.of(packed), position.digest());
          byte[] json;
          try (var zstd = new ZstdInputStream(new ByteArrayInputStream(packed))) {
            json = zstd.readNBytes(position.plainLength() + 1);
          }
          if (json.length != position.plainLength()) {
            throw new BadImageException("it does not unpack to the bytes that the manifest says");
          }
          TocReader.read(new ByteArrayInputStream(json), table);
        });
  }

  private interface Filling {
    void fill(ChunkTable table) throws IOException;
  }

  private static Toc read(ChunkTable table, Filling json) throws BadImageException {
    try {
      json.fill(table);
      return table.finish();
    } catch (BadImageException e) {
      throw refused(String.valueOf(e.getMessage()), e);
    } catch (IOException e) {
      // All bytes are in memory: whatever fails is their fault.
      throw refused("it cannot be read: " + Printable.of(String.valueOf(e.getMessage())), e);
    }
  }

  static BadImageException refused(String why, @Nullable Throwable cause) {
    return new BadImageException("the layer's table of contents is refused: " + why, cause);
  }

  private static void check(Digest found, Digest expected) throws BadImageException {
    if (!found.equals(expected)) {
      throw new BadImageException("its digest is " + found + ", the manifest says " + expected);
    }
  }

  private static InputStream estargz(byte[] member) throws IOException {
    byte[] whole = WholeMember.unpack(member);
    var tar =
        new TarReader(
            whole != null
                ? new ByteArrayInputStream(whole)
                : new GZIPInputStream(new ByteArrayInputStream(member), 64 << 10));
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

  /**
   * Reads and hashes at once: a guest waits for it, and unpacking takes longest. Bytes that are not
   * those of the manifest are refused as such, whatever else is wrong with them.
   */
  private static void readVerified(InputStream json, Digest digest, ChunkTable table)
      throws IOException {
    var hashed = new DigestInputStream(json, Digest.sha256());
    try {
      TocReader.read(hashed, table);
    } catch (BadImageException e) {
      checkAll(hashed, digest);
      throw e;
    }
    checkAll(hashed, digest);
  }

  private static void checkAll(DigestInputStream in, Digest expected) throws IOException {
    in.transferTo(OutputStream.nullOutputStream());
    check(Digest.finish(in.getMessageDigest()), expected);
  }
}
