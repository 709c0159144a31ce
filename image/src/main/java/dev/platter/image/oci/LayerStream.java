package dev.platter.image.oci;

import com.github.luben.zstd.ZstdIOException;
import com.github.luben.zstd.ZstdInputStream;
import dev.platter.image.BadImageException;
import dev.platter.image.Digest;
import java.io.EOFException;
import java.io.FilterInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.security.DigestInputStream;
import java.util.zip.GZIPInputStream;
import java.util.zip.ZipException;
import org.jspecify.annotations.Nullable;

/**
 * The tar inside a layer: unpacked, counted, hashed.
 *
 * <p>{@link #finish} has to be called, and only after it returns are the bytes known to be right.
 */
public final class LayerStream extends FilterInputStream {
  private static final int BUFFER = 64 << 10;

  private final Descriptor layer;
  private final InputStream packed;
  private final DigestInputStream plain;
  private final long max;
  private long count;

  private LayerStream(Descriptor layer, InputStream packed, InputStream unpacked, long max) {
    var hashed = new DigestInputStream(unpacked, Digest.sha256());
    super(hashed);
    this.layer = layer;
    this.packed = packed;
    this.plain = hashed;
    this.max = max;
  }

  /** Takes over {@code packed}, also if it fails. More than {@code max} bytes are refused. */
  public static LayerStream open(Descriptor layer, InputStream packed, long max)
      throws IOException {
    try {
      InputStream unpacked =
          switch (Packing.of(layer)) {
            case NONE -> packed;
            case GZIP -> new GZIPInputStream(packed, BUFFER);
            case ZSTD -> new ZstdInputStream(packed);
          };
      return new LayerStream(layer, packed, unpacked, max);
    } catch (IOException e) {
      packed.close();
      throw corrupt(layer, e);
    }
  }

  @Override
  public int read() throws IOException {
    byte[] one = new byte[1];
    return read(one, 0, 1) < 0 ? -1 : one[0] & 0xff;
  }

  @Override
  public int read(byte[] buffer, int start, int length) throws IOException {
    int read;
    try {
      read = super.read(buffer, start, length);
    } catch (IOException e) {
      throw corrupt(layer, e);
    }
    count += Math.max(0, read);
    if (count > max) {
      throw new BadImageException(
          "layer " + layer.digest() + " unpacks to more than the limit of " + max + " bytes");
    }
    return read;
  }

  /** The rest of both streams belongs to what the digests cover. */
  public void finish(@Nullable Digest diffId) throws IOException {
    byte[] sink = new byte[BUFFER];
    while (read(sink, 0, sink.length) >= 0) {}
    while (packed.read(sink, 0, sink.length) >= 0) {}
    Digest found = Digest.finish(plain.getMessageDigest());
    if (diffId != null && !found.equals(diffId)) {
      throw new BadImageException(
          "layer " + layer.digest() + " unpacks to " + found + ", the config says " + diffId);
    }
  }

  /** Errors of the decompressors are the image's fault; those of the network below are not. */
  private static IOException corrupt(Descriptor layer, IOException e) {
    boolean decompressor =
        e instanceof ZipException || e instanceof EOFException || e instanceof ZstdIOException;
    return decompressor
        ? new BadImageException("layer " + layer.digest() + " is corrupt: " + e.getMessage(), e)
        : e;
  }
}
