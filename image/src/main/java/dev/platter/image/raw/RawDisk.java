package dev.platter.image.raw;

import dev.platter.image.GuestDisk;
import java.io.Closeable;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Path;

/** A disk that is a raw file. Its holes are not read. */
public final class RawDisk implements GuestDisk, Closeable {
  private final NativeFile file;
  private final long size;

  private RawDisk(NativeFile file) throws IOException {
    this.file = file;
    this.size = file.channel().size();
  }

  public static RawDisk open(Path path) throws IOException {
    NativeFile file = NativeFile.open(path);
    try {
      return new RawDisk(file);
    } catch (Throwable e) {
      file.close();
      throw e;
    }
  }

  @Override
  public long virtualSize() {
    return size;
  }

  @Override
  public int read(long guestOffset, ByteBuffer into) throws IOException {
    int before = into.position();
    while (into.hasRemaining()) {
      int n = file.channel().read(into, guestOffset + into.position() - before);
      if (n < 0) {
        break;
      }
    }
    int read = into.position() - before;
    return read == 0 && into.hasRemaining() ? -1 : read;
  }

  @Override
  public void visitData(Stretches visitor) throws IOException {
    for (long at = 0; at < size; ) {
      long data = file.nextData(at);
      if (data < 0) {
        return;
      }
      at = Math.min(size, file.nextHole(data));
      visitor.data(data, at - data);
    }
  }

  @Override
  public void close() throws IOException {
    file.close();
  }
}
