package dev.platter.bench;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;

/**
 * What all processors of the machine have worked, and what part of that was Platter's: the daemons
 * and controllers of a cluster that runs on this machine.
 */
record MachineCpu(double millis, double platterMillis) {
  private static final String PLATTER = "dev.platter.cli.Main\0";

  /** Of /proc, in which the kernel counts for programs, whatever it counts for itself. */
  private static final double TICK_MILLIS = 10;

  static MachineCpu now() throws IOException {
    return new MachineCpu(busy() * TICK_MILLIS, platter() * TICK_MILLIS);
  }

  MachineCpu since(MachineCpu before) {
    return new MachineCpu(millis - before.millis, platterMillis - before.platterMillis);
  }

  double others() {
    return millis - platterMillis;
  }

  /** User, nice, system, then idle and waiting, which are left out, then interrupts. */
  private static long busy() throws IOException {
    try (var lines = Files.lines(Path.of("/proc/stat"))) {
      var words = lines.findFirst().orElseThrow().split(" +");
      return Arrays.stream(new int[] {1, 2, 3, 6, 7})
          .mapToLong(at -> Long.parseLong(words[at]))
          .sum();
    }
  }

  private static long platter() throws IOException {
    long ticks = 0;
    try (var processes = Files.newDirectoryStream(Path.of("/proc"), "[1-9]*")) {
      for (var process : processes) {
        ticks += ticks(process);
      }
    }
    return ticks;
  }

  private static long ticks(Path process) {
    try {
      if (!Files.readString(process.resolve("cmdline")).contains(PLATTER)) {
        return 0;
      }
      var stat = Files.readString(process.resolve("stat"));
      var words = stat.substring(stat.lastIndexOf(')') + 2).split(" ");
      return Long.parseLong(words[11]) + Long.parseLong(words[12]);
    } catch (IOException e) {
      return 0; // It has ended.
    }
  }
}
