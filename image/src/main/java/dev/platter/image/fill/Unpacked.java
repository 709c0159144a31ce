package dev.platter.image.fill;

import com.github.luben.zstd.ZstdIOException;
import com.github.luben.zstd.ZstdInputStream;
import dev.platter.image.BadImageException;
import java.io.BufferedInputStream;
import java.io.EOFException;
import java.io.FilterInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.util.zip.ZipException;
import org.tukaani.xz.XZIOException;
import org.tukaani.xz.XZInputStream;

/**
 * A file without what it is packed with: gzip, xz or zstd, by its first bytes. Unpacking takes at
 * most 128 MiB, which is more than any of the three takes at the highest level that people use.
 */
final class Unpacked extends FilterInputStream {
  private static final int BUFFER = 64 << 10;
  private static final int XZ_KIB = 128 << 10;
  private static final int ZSTD_WINDOW_LOG = 27;

  /** What may follow in a packed file: tables, padding. More is a bomb. */
  private static final long MOST_REST = 1L << 30;

  private final boolean packed;

  private Unpacked(InputStream in, boolean packed) {
    super(in);
    this.packed = packed;
  }

  static Unpacked open(InputStream in) throws IOException {
    var buffered = new BufferedInputStream(in, BUFFER);
    buffered.mark(BUFFER);
    byte[] first = buffered.readNBytes(6);
    buffered.reset();
    try {
      if (starts(first, 0x1f, 0x8b)) {
        return new Unpacked(new GzipMembers(buffered), true);
      }
      if (starts(first, 0xfd, '7', 'z', 'X', 'Z', 0)) {
        return new Unpacked(
            Lzma.isAvailable()
                ? Lzma.open(buffered, XZ_KIB * 1024L)
                : new XZInputStream(buffered, XZ_KIB),
            true);
      }
      if (starts(first, 0x28, 0xb5, 0x2f, 0xfd)) {
        return new Unpacked(
            new ZstdInputStream(buffered).setLongMax(ZSTD_WINDOW_LOG).setContinuous(false), true);
      }
    } catch (IOException e) {
      throw corrupt(e);
    }
    return new Unpacked(buffered, false);
  }

  private static boolean starts(byte[] first, int... magic) {
    for (int i = 0; i < magic.length; i++) {
      if (i >= first.length || (first[i] & 0xff) != magic[i]) {
        return false;
      }
    }
    return true;
  }

  boolean isPacked() {
    return packed;
  }

  @Override
  public int read() throws IOException {
    byte[] one = new byte[1];
    return read(one, 0, 1) < 0 ? -1 : one[0] & 0xff;
  }

  @Override
  public int read(byte[] into, int from, int length) throws IOException {
    try {
      return super.read(into, from, length);
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
}
