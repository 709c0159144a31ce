package dev.platter.image.fill;

import dev.platter.image.BadImageException;
import dev.platter.image.stream.Canvas;
import dev.platter.image.stream.Forward;
import dev.platter.image.stream.StreamedFormat;
import dev.platter.image.stream.Vhd;
import java.io.IOException;
import java.nio.ByteBuffer;

/**
 * A raw disk that passes by, of which only the end says how large it is, and whether it is a fixed
 * VHD: so its last 512 bytes are held back.
 */
final class RawStream implements StreamedFormat {
  /** Whether the last 512 bytes are those of a fixed VHD. */
  enum Footer {
    NONE,
    MAYBE,
    REQUIRED
  }

  private static final int PIECE = 256 << 10;

  private final Forward file;
  private final long length;
  private final long most;
  private final Footer footer;
  private long size;

  RawStream(Forward file, long length, long most, Footer footer) {
    this.file = file;
    this.length = length;
    this.most = most;
    this.footer = footer;
  }

  /** At least this, before it has passed; -1 if nothing is known. */
  @Override
  public long virtualSize() {
    return length < Vhd.FOOTER || footer == Footer.NONE ? length : length - Vhd.FOOTER;
  }

  @Override
  public void copyTo(Canvas canvas) throws IOException {
    long at = 0;
    ByteBuffer bytes = file.at(at, PIECE + Vhd.FOOTER);
    for (; bytes.remaining() == PIECE + Vhd.FOOTER; bytes = file.at(at, PIECE + Vhd.FOOTER)) {
      canvas.write(at, bytes.limit(PIECE));
      at += PIECE;
      if (at > most) {
        throw new TooLarge("more than " + most + " bytes", most);
      }
    }
    size = at + bytes.remaining();
    size = withoutFooter(bytes);
    canvas.write(at, bytes.limit((int) Math.max(0, size - at)));
    canvas.flush();
  }

  /**
   * @param end the last bytes of the file
   */
  private long withoutFooter(ByteBuffer end) throws IOException {
    if (footer == Footer.NONE) {
      return size;
    }
    int last = Math.min(end.remaining(), Vhd.FOOTER);
    var fixed = Vhd.fixedSize(end.slice(end.remaining() - last, last), size);
    if (fixed.isEmpty() && footer == Footer.REQUIRED) {
      throw new BadImageException("it is no VHD: its footer is damaged, or is not there");
    }
    return fixed.orElse(size);
  }

  /** How large the disk turned out to be. */
  long size() {
    return size;
  }
}
