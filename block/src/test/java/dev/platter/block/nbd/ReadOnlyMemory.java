package dev.platter.block.nbd;

import dev.platter.block.BlockDevice;
import java.io.IOException;
import java.nio.ByteBuffer;

/** Zeros that cannot be written to; tests override what they are about. */
class ReadOnlyMemory implements BlockDevice {
  private final long size;

  ReadOnlyMemory(long size) {
    this.size = size;
  }

  @Override
  public long size() {
    return size;
  }

  @Override
  public boolean readOnly() {
    return true;
  }

  @Override
  public void read(long offset, ByteBuffer into) throws IOException {
    while (into.hasRemaining()) {
      into.put((byte) 0);
    }
  }

  @Override
  public void write(long offset, ByteBuffer from) throws IOException {
    throw new AssertionError("the server writes to a read-only device");
  }

  @Override
  public void zero(long offset, long length, boolean mayTrim) {
    throw new AssertionError("the server writes to a read-only device");
  }

  @Override
  public void trim(long offset, long length) {
    throw new AssertionError("the server writes to a read-only device");
  }

  @Override
  public void flush() {}

  @Override
  public void close() {}
}
