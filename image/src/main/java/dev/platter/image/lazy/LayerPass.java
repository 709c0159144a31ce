package dev.platter.image.lazy;

import com.github.luben.zstd.ZstdIOException;
import com.github.luben.zstd.ZstdInputStream;
import dev.platter.image.BadImageException;
import dev.platter.image.Digest;
import dev.platter.image.DiskSink;
import dev.platter.image.gzip.GzipIndexer;
import dev.platter.image.oci.Descriptor;
import dev.platter.image.tar.TarEntry;
import dev.platter.image.tar.TarReader;
import java.io.EOFException;
import java.io.FilterInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.security.MessageDigest;
import java.util.zip.ZipException;
import org.jspecify.annotations.Nullable;

/**
 * Reads a layer once, from its first to its last byte: gives the disk to a sink as it passes and
 * makes the index by which it need not be read like that again. Only when {@link #run} returns are
 * the bytes known to be right: digest and diff_id cover the whole layer.
 */
final class LayerPass {
  private static final int BUFFER = 64 << 10;

  /** Says which files go to the sink; each that does voids the one before. */
  @FunctionalInterface
  interface Choice {
    /** The name of the disk, if this file is it; else null. */
    @Nullable String disk(int entry, TarEntry file) throws IOException;
  }

  /**
   * What came of it.
   *
   * @param passed the entry whose bytes the sink has, or -1
   */
  record Result(LayerIndex index, int passed) {}

  private final Descriptor layer;
  private final LayerFormat format;
  private final long max;
  private final Choice choice;
  private final DiskSink sink;
  private final LayerIndex.Builder index;
  private final byte[] buffer = new byte[BUFFER];
  private @Nullable GzipIndexer gzip;
  private int passed = -1;

  LayerPass(Descriptor layer, LayerFormat format, long max, Choice choice, DiskSink sink) {
    this.layer = layer;
    this.format = format;
    this.max = max;
    this.choice = choice;
    this.sink = sink;
    this.index = new LayerIndex.Builder(layer, format);
  }

  /**
   * Reads {@code packed} to its end and closes it.
   *
   * @param packed the layer, whose digest is checked on the way
   * @param diffId what the config says, if there is one
   */
  Result run(InputStream packed, @Nullable Digest diffId) throws IOException {
    try (var ahead = new ReadAhead(packed);
        var plain = new Plain(unpack(ahead))) {
      if (format == LayerFormat.BARE) {
        file(
            new TarEntry(LayerFormat.bareName(layer), TarEntry.Type.FILE, layer.size(), ""),
            0,
            plain);
      } else {
        var tar = new TarReader(plain);
        for (TarEntry entry; (entry = tar.next()) != null; ) {
          file(entry, tar.position(), tar.content());
        }
      }
      // The rest of both streams belongs to what the digests cover.
      while (plain.read(buffer) >= 0) {}
      while (ahead.read(buffer) >= 0) {}
      Digest found = plain.digest();
      if (diffId != null && !found.equals(diffId)) {
        throw new BadImageException(
            "layer " + layer.digest() + " unpacks to " + found + ", the config says " + diffId);
      }
      return new Result(
          index.build(found, plain.count, gzip == null ? null : gzip.finish()), passed);
    }
  }

  private InputStream unpack(InputStream packed) throws IOException {
    try {
      return switch (format) {
        case BARE, TAR -> packed;
        case ZSTD -> new ZstdInputStream(packed);
        case GZIP -> {
          gzip = new GzipIndexer(packed, Long.MAX_VALUE);
          yield gzip;
        }
      };
    } catch (IOException e) {
      throw corrupt(e);
    }
  }

  private void file(TarEntry entry, long offset, InputStream content) throws IOException {
    int number = index.entry(entry, offset);
    if (entry.type() != TarEntry.Type.FILE) {
      return;
    }
    @Nullable String disk = choice.disk(number, entry);
    if (disk == null && !LayerIndex.isWorthChunks(entry)) {
      return;
    }
    if (disk != null) {
      passed = number;
      sink.begin(disk, entry.size());
    }
    @Nullable GridDigests grid = gzip == null ? index.startFile(number) : null;
    if (gzip != null) {
      gzip.cut();
    }
    for (int n; (n = content.read(buffer)) >= 0; ) {
      if (grid != null) {
        grid.update(buffer, n);
      }
      if (disk != null) {
        sink.bytes(ByteBuffer.wrap(buffer, 0, n));
      }
    }
    if (grid != null) {
      grid.finish();
    }
    if (gzip != null) {
      gzip.cut();
    }
  }

  /** Errors of the decompressors are the image's fault; those of the network below are not. */
  private IOException corrupt(IOException e) {
    return switch (e) {
      case ZipException _, EOFException _, ZstdIOException _ ->
          new BadImageException("layer " + layer.digest() + " is corrupt: " + e.getMessage(), e);
      case BadImageException _ ->
          new BadImageException("layer " + layer.digest() + ": " + e.getMessage(), e);
      default -> e;
    };
  }

  /** The tar: counted and hashed. If nothing was packed, its digest is that of the blob. */
  private final class Plain extends FilterInputStream {
    private final @Nullable MessageDigest sha =
        format == LayerFormat.GZIP || format == LayerFormat.ZSTD ? Digest.sha256() : null;
    private long count;

    Plain(InputStream in) {
      super(in);
    }

    @Override
    public int read() throws IOException {
      byte[] one = new byte[1];
      return read(one, 0, 1) < 0 ? -1 : one[0] & 0xff;
    }

    @Override
    public int read(byte[] into, int from, int length) throws IOException {
      int n;
      try {
        n = super.read(into, from, length);
      } catch (IOException e) {
        throw corrupt(e);
      }
      if (n > 0) {
        count += n;
        if (sha != null) {
          sha.update(into, from, n);
        }
        if (count > max) {
          throw new BadImageException(
              "layer " + layer.digest() + " unpacks to more than the limit of " + max + " bytes");
        }
      }
      return n;
    }

    Digest digest() {
      return sha == null ? layer.digest() : Digest.finish(sha);
    }
  }
}
