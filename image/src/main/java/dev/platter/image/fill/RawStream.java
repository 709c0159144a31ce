package dev.platter.image.fill;

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
  private static final int PIECE = 256 << 10;

  private final Forward file;
  private final long length;
  private final long most;
  private long size;

  RawStream(Forward file, long length, long most) {
    this.file = file;
    this.length = length;
    this.most = most;
  }

  /** At least this, before it has passed; -1 if nothing is known. */
  @Override
  public long virtualSize() {
    return length < Vhd.FOOTER ? length : length - Vhd.FOOTER;
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
    int last = Math.min(bytes.remaining(), Vhd.FOOTER);
    size = Vhd.fixedSize(bytes.slice(bytes.remaining() - last, last), size).orElse(size);
    canvas.write(at, bytes.limit((int) Math.max(0, size - at)));
    canvas.flush();
  }

  /** How large the disk turned out to be. */
  long size() {
    return size;
  }
}
