package dev.platter.image.qcow2;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;
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
 * Raw deflate by libdeflate, where the machine has it: two to three times as fast as zlib, since it
 * wants a whole stream and room for all of it. It is told the length of both buffers and stays
 * inside. What it does not take (a stream that has no end, or would go on) is left to zlib, which
 * knows how to stop in the middle.
 *
 * <p>{@code -Dplatter.libdeflate=off} does without.
 */
final class LibdeflateDecompressor implements Decompressor {
  private static final Optional<Library> LIBRARY = Library.load();

  private final Library library = LIBRARY.orElseThrow();
  private final MemorySegment state = library.allocate();
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

  /** The three functions of the library that are needed. */
  private record Library(MethodHandle alloc, MethodHandle inflate, MethodHandle release) {
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
      Linker linker = Linker.nativeLinker();
      return Optional.of(
          new Library(
              linker.downcallHandle(
                  symbols.findOrThrow("libdeflate_alloc_decompressor"),
                  FunctionDescriptor.of(ADDRESS)),
              linker.downcallHandle(
                  symbols.findOrThrow("libdeflate_deflate_decompress"),
                  FunctionDescriptor.of(
                      JAVA_INT, ADDRESS, ADDRESS, JAVA_LONG, ADDRESS, JAVA_LONG, ADDRESS)),
              linker.downcallHandle(
                  symbols.findOrThrow("libdeflate_free_decompressor"),
                  FunctionDescriptor.ofVoid(ADDRESS))));
    }

    MemorySegment allocate() {
      try {
        MemorySegment state = (MemorySegment) alloc.invokeExact();
        if (state.address() == 0) {
          throw new OutOfMemoryError("libdeflate has no memory");
        }
        return state;
      } catch (Error e) {
        throw e;
      } catch (Throwable e) {
        throw new AssertionError(e);
      }
    }

    /** Whether a whole stream was there and filled the output exactly. */
    boolean decompress(MemorySegment state, MemorySegment in, MemorySegment out) {
      try {
        return (int)
                inflate.invokeExact(
                    state, in, in.byteSize(), out, out.byteSize(), MemorySegment.NULL)
            == 0;
      } catch (Throwable e) {
        throw new AssertionError(e);
      }
    }

    void free(MemorySegment state) {
      try {
        release.invokeExact(state);
      } catch (Throwable e) {
        throw new AssertionError(e);
      }
    }
  }
}
