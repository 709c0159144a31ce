package dev.platter.image.qcow2;

import dev.platter.image.NativeLibrary;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.util.Optional;

/**
 * Raw deflate by libdeflate, where the machine has it: about twice as fast as zlib, since it wants
 * a whole stream and room for all of it. It is told the length of both buffers and stays inside.
 * What it does not take (a stream that has no end, or would go on) is left to zlib, which knows how
 * to stop in the middle.
 *
 * <p>{@code -Dplatter.libdeflate=off} does without.
 */
final class LibdeflateDecompressor implements Decompressor {
  private static final Optional<Library> LIBRARY = Library.load();

  private final Library library = LIBRARY.orElseThrow();
  private final long state = library.allocate();
  private final ZlibDecompressor zlib = new ZlibDecompressor();
  private boolean closed;

  static boolean isAvailable() {
    return LIBRARY.isPresent();
  }

  @Override
  public boolean fill(ByteBuffer in, ByteBuffer out) {
    if (closed || !in.isDirect() || !out.isDirect()) {
      throw new IllegalStateException("the library is given memory that is its own to use");
    }
    if (library.decompress(state, MemorySegment.ofBuffer(in), MemorySegment.ofBuffer(out))) {
      out.position(out.limit());
      return true;
    }
    return zlib.fill(in, out);
  }

  @Override
  public void close() {
    if (!closed) {
      closed = true;
      library.free(state);
      zlib.close();
    }
  }

  /** The functions of the library that are needed. */
  private record Library(MemorySegment alloc, MemorySegment inflate, MemorySegment release) {
    static Optional<Library> load() {
      return NativeLibrary.load("libdeflate.so.0", "platter.libdeflate")
          .map(
              library ->
                  new Library(
                      library.function("libdeflate_alloc_decompressor"),
                      library.function("libdeflate_deflate_decompress"),
                      library.function("libdeflate_free_decompressor")));
    }

    long allocate() {
      long state = NativeLibrary.call(alloc, 0, 0, 0);
      if (state == 0) {
        throw new OutOfMemoryError("libdeflate has no memory");
      }
      return state;
    }

    /** Whether a whole stream was there and filled the output exactly; both are off the heap. */
    boolean decompress(long state, MemorySegment in, MemorySegment out) {
      int status =
          (int)
              NativeLibrary.call(
                  inflate, state, in.address(), in.byteSize(), out.address(), out.byteSize());
      return status == 0;
    }

    void free(long state) {
      NativeLibrary.call(release, state, 0, 0);
    }
  }
}
