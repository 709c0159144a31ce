package dev.platter.image.qcow2;

import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.lang.invoke.MethodHandle;
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

  static boolean isAvailable() {
    return LIBRARY.isPresent();
  }

  @Override
  public boolean fill(ByteBuffer in, ByteBuffer out) {
    if (library.decompress(state, MemorySegment.ofBuffer(in), MemorySegment.ofBuffer(out))) {
      out.position(out.limit());
      return true;
    }
    return zlib.fill(in, out);
  }

  @Override
  public void close() {
    library.free(state);
    zlib.close();
  }

  /**
   * The functions of the library that are needed; one shape of call for all, as it is made once.
   */
  private record Library(
      MethodHandle call, MemorySegment alloc, MemorySegment inflate, MemorySegment release) {
    static Optional<Library> load() {
      if ("off".equals(System.getProperty("platter.libdeflate"))) {
        return Optional.empty();
      }
      SymbolLookup symbols;
      try {
        symbols = SymbolLookup.libraryLookup("libdeflate.so.0", Arena.global());
      } catch (IllegalArgumentException e) {
        return Optional.empty();
      }
      FunctionDescriptor six =
          FunctionDescriptor.of(
              JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG);
      return Optional.of(
          new Library(
              Linker.nativeLinker().downcallHandle(six),
              symbols.findOrThrow("libdeflate_alloc_decompressor"),
              symbols.findOrThrow("libdeflate_deflate_decompress"),
              symbols.findOrThrow("libdeflate_free_decompressor")));
    }

    long allocate() {
      long state = call(alloc, 0, 0, 0, 0, 0);
      if (state == 0) {
        throw new OutOfMemoryError("libdeflate has no memory");
      }
      return state;
    }

    /** Whether a whole stream was there and filled the output exactly; both are off the heap. */
    boolean decompress(long state, MemorySegment in, MemorySegment out) {
      return (int) call(inflate, state, in.address(), in.byteSize(), out.address(), out.byteSize())
          == 0;
    }

    void free(long state) {
      call(release, state, 0, 0, 0, 0);
    }

    private long call(MemorySegment function, long a, long b, long c, long d, long e) {
      try {
        return (long) call.invokeExact(function, a, b, c, d, e, 0L);
      } catch (Throwable t) {
        throw new AssertionError("a call with fixed types cannot throw", t);
      }
    }
  }
}
