package dev.platter.block;

import java.io.IOException;
import java.nio.ByteBuffer;

/** A disk that nobody writes to. */
public interface ReadOnlyDevice extends BlockDevice {
  @Override
  default boolean readOnly() {
    return true;
  }

  @Override
  default void write(long offset, ByteBuffer from) throws IOException {
    throw refused();
  }

  @Override
  default void zero(long offset, long length, boolean mayTrim) throws IOException {
    throw refused();
  }

  @Override
  default void trim(long offset, long length) throws IOException {
    throw refused();
  }

  @Override
  default void flush() {}

  private static IOException refused() {
    return new IOException("this disk is read only");
  }
}
