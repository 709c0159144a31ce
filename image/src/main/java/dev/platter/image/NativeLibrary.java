package dev.platter.image;

import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.lang.invoke.MethodHandle;
import java.util.Optional;

/**
 * A library of this machine that does something faster than the JDK, where it is installed. All
 * calls have one shape, six longs, since the JVM makes code for each: on 64-bit Linux an int or a
 * pointer is passed as a long, and arguments that a function does not have are ignored.
 */
public final class NativeLibrary {
  private static final MethodHandle CALL =
      Linker.nativeLinker()
          .downcallHandle(
              FunctionDescriptor.of(
                  JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG));

  private final SymbolLookup symbols;

  private NativeLibrary(SymbolLookup symbols) {
    this.symbols = symbols;
  }

  /**
   * @param property {@code off} does without it
   */
  public static Optional<NativeLibrary> load(String name, String property) {
    if ("off".equals(System.getProperty(property))) {
      return Optional.empty();
    }
    try {
      return Optional.of(new NativeLibrary(SymbolLookup.libraryLookup(name, Arena.global())));
    } catch (IllegalArgumentException e) {
      return Optional.empty();
    }
  }

  /** A function that every version has. */
  public MemorySegment function(String name) {
    return symbols.findOrThrow(name);
  }

  public Optional<MemorySegment> find(String name) {
    return symbols.find(name);
  }

  public static long call(MemorySegment function, long a, long b, long c, long d, long e) {
    try {
      return (long) CALL.invokeExact(function, a, b, c, d, e, 0L);
    } catch (Throwable t) {
      throw new AssertionError("a call with fixed types cannot throw", t);
    }
  }

  public static long call(MemorySegment function, long a, long b, long c) {
    return call(function, a, b, c, 0, 0);
  }
}
