package dev.platter.image.seekable;

import com.github.luben.zstd.Zstd;
import com.github.luben.zstd.ZstdDecompressCtx;
import com.github.luben.zstd.ZstdException;
import dev.platter.image.BadImageException;
import java.io.ByteArrayInputStream;
import java.io.EOFException;
import java.io.IOException;
import java.util.Arrays;
import java.util.zip.GZIPInputStream;

/** How the chunks of a layer are packed. */
enum Packing {
  GZIP {
    @Override
    byte[] unpack(byte[] blobBytes, int skip, int size) throws IOException {
      byte[] whole = skip == 0 ? WholeMember.unpack(blobBytes, size) : null;
      if (whole != null) {
        return whole;
      }
      try (var gzip = new GZIPInputStream(new ByteArrayInputStream(blobBytes), 16 << 10)) {
        gzip.skipNBytes(skip);
        // No more than the chunk: in layers of others its member goes on with padding and headers.
        return gzip.readNBytes(size);
      }
    }
  },

  /** A chunk is a frame of its own. */
  ZSTD {
    @Override
    byte[] unpack(byte[] blobBytes, int skip, int size) throws IOException {
      byte[] plain = new byte[size];
      try (var context = new ZstdDecompressCtx()) {
        if (blobBytes.length == 0) {
          throw new EOFException("there is nothing");
        }
        int frame = (int) Zstd.findFrameCompressedSize(blobBytes);
        int n = context.decompressByteArray(plain, 0, size, blobBytes, 0, frame);
        return n == size ? plain : Arrays.copyOf(plain, n);
      } catch (ZstdException e) {
        throw new BadImageException(String.valueOf(e.getMessage()), e);
      }
    }
  };

  /** The bytes after the first {@code skip}, no more than {@code size}. */
  abstract byte[] unpack(byte[] blobBytes, int skip, int size) throws IOException;

  boolean hasHoles() {
    return this == ZSTD;
  }
}
