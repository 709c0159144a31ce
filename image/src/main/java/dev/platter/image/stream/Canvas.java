package dev.platter.image.stream;

import dev.platter.image.raw.RawTarget;
import java.io.IOException;
import java.nio.ByteBuffer;

/**
 * Where the disk is put together. The target reads as zeros when this begins; what is written next
 * to each other goes there in one piece. Belongs to one thread, but there may be several for one
 * target that do not write to the same 4 KiB.
 */
public final class Canvas {
  private static final int BUFFER = 1 << 20;

  /** From this on a piece is worth a call of its own, and goes where it belongs as it is. */
  private static final int LARGE = 64 << 10;

  /** Devices are written from whole pages. */
  private static final int PAGE = 4096;

  private final RawTarget target;
  private final long size;
  private final ByteBuffer buffer =
      ByteBuffer.allocateDirect(BUFFER + PAGE).alignedSlice(PAGE).limit(BUFFER);
  private long at;

  /**
   * @param size of the disk: what is past it is left out
   */
  public Canvas(RawTarget target, long size) {
    this.target = target;
    this.size = size;
  }

  /** For another thread that writes to the same disk. */
  public Canvas another() {
    return new Canvas(target, size);
  }

  /** Uses up the bytes. */
  public void write(long guest, ByteBuffer bytes) throws IOException {
    if (guest + bytes.remaining() > size) {
      bytes.limit(bytes.position() + (int) Math.max(0, size - guest));
    }
    if (guest != at + buffer.position()) {
      flush();
      at = guest;
    }
    if (buffer.position() == 0 && bytes.remaining() >= LARGE && target.takes(bytes)) {
      int length = bytes.remaining();
      target.write(bytes, at);
      at += length;
    }
    while (bytes.hasRemaining()) {
      int n = Math.min(bytes.remaining(), buffer.remaining());
      buffer.put(bytes.slice(bytes.position(), n));
      bytes.position(bytes.position() + n);
      if (!buffer.hasRemaining()) {
        flush();
      }
    }
  }

  public void flush() throws IOException {
    int length = buffer.position();
    if (length > 0) {
      target.write(buffer.flip(), at);
      buffer.clear().limit(BUFFER);
      at += length;
    }
  }
}
