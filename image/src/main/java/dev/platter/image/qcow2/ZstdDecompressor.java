package dev.platter.image.qcow2;

import com.github.luben.zstd.ZstdDecompressCtx;
import com.github.luben.zstd.ZstdException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/**
 * Zstandard, one or more frames for a cluster. Like QEMU it asks that the frame ends where the
 * cluster is full. A frame says itself how large a window it needs, up to 128 MiB of native memory;
 * as no cluster is over 2 MiB, a larger window than the 8 MiB that every decoder must have is
 * refused before the library sees it.
 */
final class ZstdDecompressor implements Decompressor {
  private static final int MAGIC = 0xFD2FB528;
  private static final long MAX_WINDOW = 8 << 20;

  private static final byte[] NOTHING = new byte[18];

  private final ByteBuffer header =
      ByteBuffer.allocate(NOTHING.length).order(ByteOrder.LITTLE_ENDIAN);
  private final ZstdDecompressCtx context = new ZstdDecompressCtx();

  @Override
  public boolean fill(ByteBuffer in, ByteBuffer out) {
    context.reset();
    boolean frameEnded = true;
    try {
      while (out.hasRemaining()) {
        if (frameEnded && window(in) > MAX_WINDOW) {
          return false;
        }
        int before = in.remaining() + out.remaining();
        frameEnded = context.decompressDirectByteBufferStream(out, in);
        if (in.remaining() + out.remaining() == before) {
          return false;
        }
      }
      return frameEnded;
    } catch (ZstdException e) {
      return false;
    }
  }

  /** The window of the frame that starts here; 0 if there is none to be seen. RFC 8878, 3.1.1.1. */
  private long window(ByteBuffer in) {
    header.clear().put(NOTHING).clear();
    header.put(0, in, in.position(), Math.min(in.remaining(), NOTHING.length));
    if (header.getInt() != MAGIC) {
      return 0;
    }
    int descriptor = header.get();
    boolean singleSegment = (descriptor & 0x20) != 0;
    if (!singleSegment) {
      int window = header.get() & 0xff;
      long base = 1L << (10 + (window >> 3));
      return base + (base >> 3) * (window & 7);
    }
    int dictionaryId = descriptor & 3;
    header.position(header.position() + (dictionaryId == 3 ? 4 : dictionaryId));
    return switch ((descriptor >> 6) & 3) {
      case 0 -> header.get() & 0xff;
      case 1 -> (header.getShort() & 0xffff) + 256;
      case 2 -> header.getInt() & 0xffffffffL;
      default -> header.getLong() & Long.MAX_VALUE;
    };
  }

  @Override
  public void close() {
    context.close();
  }
}
