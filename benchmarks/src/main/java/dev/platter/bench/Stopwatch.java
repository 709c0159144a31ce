package dev.platter.bench;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;

/**
 * Wall time, and the CPU time of this thread (or all threads) and of the processes it waited for.
 * The JDK tells nothing of the latter, so it is asked of getrusage(2).
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

  private final boolean allThreads;
  private final long started;
  private final long cpuStarted;

  /** What a stopwatch showed when it was stopped. */
  record Reading(double millis, double cpuMillis) {}

  private Stopwatch(boolean allThreads) {
    this.allThreads = allThreads;
    this.cpuStarted = cpuNanos();
    this.started = System.nanoTime();
  }

  static Stopwatch start() {
    return new Stopwatch(false);
  }

  /** Counts the CPU time of all threads of this process, the compiler's included. */
  static Stopwatch startForAllThreads() {
    return new Stopwatch(true);
  }

  Reading stop() {
    var wall = System.nanoTime() - started;
    return new Reading(wall / 1e6, (cpuNanos() - cpuStarted) / 1e6);
  }

  private long cpuNanos() {
    var ours = allThreads ? usedNanos(RUSAGE_SELF) : THREADS.getCurrentThreadCpuTime();
    return ours + usedNanos(RUSAGE_CHILDREN);
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
