package dev.platter.cli;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/** Whether people or programs are looking. */
final class Terminal {
  private Terminal() {}

  static boolean onOutput() {
    return isTerminal("1");
  }

  static boolean onError() {
    return isTerminal("2");
  }

  static boolean onInput() {
    return isTerminal("0");
  }

  private static boolean isTerminal(String descriptor) {
    try {
      var target = Files.readSymbolicLink(Path.of("/proc/self/fd", descriptor)).toString();
      return target.startsWith("/dev/pts/")
          || target.startsWith("/dev/tty")
          || target.equals("/dev/console");
    } catch (IOException e) {
      return false;
    }
  }
}
