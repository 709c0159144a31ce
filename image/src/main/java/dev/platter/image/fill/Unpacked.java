package dev.platter.image.fill;

import com.github.luben.zstd.ZstdIOException;
import com.github.luben.zstd.ZstdInputStream;
import dev.platter.image.BadImageException;
import dev.platter.image.BufferStream;
import java.io.BufferedInputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.util.zip.ZipException;
import org.tukaani.xz.XZIOException;
import org.tukaani.xz.XZInputStream;

/**
 * A file without what it is packed with: gzip, xz or zstd, by its first bytes. Unpacking takes at
 * most 128 MiB, which is more than any of the three takes at the highest level that people use.
 */
final class Unpacked extends BufferStream {
  private static final int MAGIC = 6;
  private static final int BUFFER = 64 << 10;
  private static final int XZ_KIB = 128 << 10;
  private static final int ZSTD_WINDOW_LOG = 27;

  /** What may follow in a packed file: tables, padding. More is a bomb. */
  private static final long MOST_REST = 1L << 30;

  private final BufferStream in;
  private final boolean packed;

  private Unpacked(BufferStream in, boolean packed) {
    this.in = in;
    this.packed = packed;
  }

  private static Unpacked packed(InputStream plain) {
    return new Unpacked(new Ahead(BufferStream.of(plain)), true);
  }

  static Unpacked open(BufferStream in) throws IOException {
    byte[] first = in.readNBytes(MAGIC);
    var whole = new Whole(ByteBuffer.wrap(first), in);
    try {
      if (starts(first, 0x1f, 0x8b)) {
        return packed(new GzipMembers(whole));
      }
      if (starts(first, 0xfd, '7', 'z', 'X', 'Z', 0)) {
        return packed(
            Lzma.isAvailable()
                ? Lzma.open(whole, XZ_KIB * 1024L)
                : new XZInputStream(new BufferedInputStream(whole, BUFFER), XZ_KIB));
      }
      if (starts(first, 0x28, 0xb5, 0x2f, 0xfd) || startsSkippable(first)) {
        return packed(new ZstdInputStream(whole).setLongMax(ZSTD_WINDOW_LOG).setContinuous(false));
      }
    } catch (IOException e) {
      throw corrupt(e);
    }
    return new Unpacked(whole, false);
  }

  private static boolean starts(byte[] first, int... magic) {
    for (int i = 0; i < magic.length; i++) {
      if (i >= first.length || (first[i] & 0xff) != magic[i]) {
        return false;
      }
    }
    return true;
  }

  /** A frame that pzstd begins with, for its own use. */
  private static boolean startsSkippable(byte[] first) {
    return first.length >= 4
        && (first[0] & 0xf0) == 0x50
        && first[1] == 0x2a
        && first[2] == 0x4d
        && first[3] == 0x18;
  }

  boolean isPacked() {
    return packed;
  }

  @Override
  public int read(ByteBuffer into) throws IOException {
    try {
      return in.read(into);
    } catch (IOException e) {
      throw packed ? corrupt(e) : e;
    }
  }

  /** Reads what is left of it. */
  void finish() throws IOException {
    byte[] sink = new byte[BUFFER];
    long left = packed ? MOST_REST : Long.MAX_VALUE;
    for (int n; (n = read(sink, 0, sink.length)) >= 0; left -= n) {
      if (left < n) {
        throw new BadImageException(
            "more than %d bytes follow what is in the file".formatted(MOST_REST));
      }
    }
  }

  /** Errors of the decompressors are the file's fault; those of the network below are not. */
  private static IOException corrupt(IOException e) {
    return switch (e) {
      case ZipException _, EOFException _, ZstdIOException _, XZIOException _ ->
          new BadImageException("what it is packed with is damaged: " + e.getMessage(), e);
      default -> e;
    };
  }

  @Override
  public void close() throws IOException {
    in.close();
  }

  /** A stream with its first bytes, which somebody has looked at. */
  private static final class Whole extends BufferStream {
    private final ByteBuffer first;
    private final BufferStream rest;

    Whole(ByteBuffer first, BufferStream rest) {
      this.first = first;
      this.rest = rest;
    }

    @Override
    public int read(ByteBuffer into) throws IOException {
      if (!first.hasRemaining()) {
        return rest.read(into);
      }
      int n = Math.min(first.remaining(), into.remaining());
      into.put(first.slice(first.position(), n));
      first.position(first.position() + n);
      return n;
    }

    @Override
    public void close() throws IOException {
      rest.close();
    }
  }
}
