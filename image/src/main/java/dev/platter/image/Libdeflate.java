package dev.platter.image;

import java.lang.foreign.MemorySegment;
import java.util.Optional;

/**
 * Raw deflate by libdeflate, where the machine has it: about twice as fast as zlib, since it wants
 * a whole stream and room for all of it. It is told the length of both buffers and stays inside.
 * For one thread at a time.
 *
 * <p>{@code -Dplatter.libdeflate=off} does without.
 */
public final class Libdeflate implements AutoCloseable {
  private static final Optional<Functions> FUNCTIONS =
      NativeLibrary.load("libdeflate.so.0", "platter.libdeflate")
          .map(
              library ->
                  new Functions(
                      library.function("libdeflate_alloc_decompressor"),
                      library.function("libdeflate_deflate_decompress"),
                      library.function("libdeflate_free_decompressor")));

  private record Functions(MemorySegment alloc, MemorySegment inflate, MemorySegment release) {}

  private final Functions functions = FUNCTIONS.orElseThrow();
  private final long state = NativeLibrary.call(functions.alloc, 0, 0, 0);
  private boolean closed;

  public Libdeflate() {
    if (state == 0) {
      throw new OutOfMemoryError("libdeflate has no memory");
    }
  }

  public static boolean isAvailable() {
    return FUNCTIONS.isPresent();
  }

  /**
   * Whether a whole stream is at the start of {@code in} and filled {@code out} exactly; both are
   * off the heap.
   */
  public boolean inflate(MemorySegment in, MemorySegment out) {
    if (closed || !in.isNative() || !out.isNative()) {
      throw new IllegalStateException("the library is given memory that is its own to use");
    }
    long status =
        NativeLibrary.call(
            functions.inflate, state, in.address(), in.byteSize(), out.address(), out.byteSize());
    return (int) status == 0;
  }

  @Override
  public void close() {
    if (!closed) {
      closed = true;
      NativeLibrary.call(functions.release, state, 0, 0);
    }
  }
}
