package dev.platter.bench;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.util.function.LongSupplier;

/**
 * Wall time, and the CPU time of this thread (or all threads) and of the processes it waited for,
 * or that of another process. The JDK tells nothing of processes waited for, and of others in steps
 * of 10 ms; so getrusage(2) and the clock of that process are asked.
 */
final class Stopwatch {
  private static final int RUSAGE_SELF = 0;
  private static final int RUSAGE_CHILDREN = -1;
  private static final int RUSAGE_BYTES = 144;
  private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();
  private static final MethodHandle GETRUSAGE =
      Linker.nativeLinker()
          .downcallHandle(
              Linker.nativeLinker().defaultLookup().findOrThrow("getrusage"),
              FunctionDescriptor.of(
                  ValueLayout.JAVA_INT, ValueLayout.JAVA_INT, ValueLayout.ADDRESS));

  private static final MethodHandle CLOCK_GETTIME =
      Linker.nativeLinker()
          .downcallHandle(
              Linker.nativeLinker().defaultLookup().findOrThrow("clock_gettime"),
              FunctionDescriptor.of(
                  ValueLayout.JAVA_INT, ValueLayout.JAVA_INT, ValueLayout.ADDRESS));

  /**
   * Of clock_getcpuclockid(3): the lowest bits of the clock that counts all threads of a process.
   */
  private static final int CLOCK_OF_PROCESS = 2;

  private final LongSupplier cpuNanos;
  private final long started;
  private final long cpuStarted;

  /** What a stopwatch showed when it was stopped. */
  record Reading(double millis, double cpuMillis) {}

  private Stopwatch(LongSupplier cpuNanos) {
    this.cpuNanos = cpuNanos;
    this.cpuStarted = cpuNanos.getAsLong();
    this.started = System.nanoTime();
  }

  static Stopwatch start() {
    return new Stopwatch(() -> THREADS.getCurrentThreadCpuTime() + usedNanos(RUSAGE_CHILDREN));
  }

  /** Counts the CPU time of all threads of this process, the compiler's included. */
  static Stopwatch startForAllThreads() {
    return new Stopwatch(() -> usedNanos(RUSAGE_SELF) + usedNanos(RUSAGE_CHILDREN));
  }

  /** Counts the CPU time of another process, all of its threads, and of nobody else. */
  static Stopwatch startFor(long pid) {
    var clock = ((int) ~pid << 3) | CLOCK_OF_PROCESS;
    return new Stopwatch(() -> clockNanos(clock));
  }

  Reading stop() {
    var wall = System.nanoTime() - started;
    return new Reading(wall / 1e6, (cpuNanos.getAsLong() - cpuStarted) / 1e6);
  }

  private static long clockNanos(int clock) {
    try (var arena = Arena.ofConfined()) {
      var time = arena.allocate(16, 8);
      if ((int) CLOCK_GETTIME.invokeExact(clock, time) != 0) {
        throw new IllegalStateException("the process is gone");
      }
      return time.get(ValueLayout.JAVA_LONG, 0) * 1_000_000_000L
          + time.get(ValueLayout.JAVA_LONG, 8);
    } catch (Throwable e) {
      throw new IllegalStateException(e);
    }
  }

  private static long usedNanos(int whose) {
    try (var arena = Arena.ofConfined()) {
      var usage = arena.allocate(RUSAGE_BYTES, 8);
      var status = (int) GETRUSAGE.invokeExact(whose, usage);
      if (status != 0) {
        throw new IllegalStateException("getrusage failed");
      }
      long nanos = 0;
      for (var at = 0; at < 32; at += 16) {
        nanos += usage.get(ValueLayout.JAVA_LONG, at) * 1_000_000_000L;
        nanos += usage.get(ValueLayout.JAVA_LONG, at + 8) * 1_000L;
      }
      return nanos;
    } catch (Throwable e) {
      throw new IllegalStateException(e);
    }
  }
}
