package dev.platter.node.program;

import java.io.IOException;
import java.nio.charset.Charset;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/**
 * What a process was started with. The JDK's own {@code ProcessHandle} tells nothing of a command
 * line that is longer than 4 KiB, as that of a JVM with many jars is.
 */
public final class Arguments {
  private Arguments() {}

  /** Of this process; the first is the program. */
  public static List<String> own() {
    return of(ProcessHandle.current());
  }

  /** Empty if the process has ended. */
  public static List<String> of(ProcessHandle process) {
    var file = Path.of("/proc", Long.toString(process.pid()), "cmdline");
    try {
      var names = Charset.forName(System.getProperty("sun.jnu.encoding", "UTF-8"));
      return List.of(new String(Files.readAllBytes(file), names).split("\0"));
    } catch (IOException e) {
      return List.of();
    }
  }
}
