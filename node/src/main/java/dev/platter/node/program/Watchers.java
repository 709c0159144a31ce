package dev.platter.node.program;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Stream;

/**
 * Shells that look at something as long as a process lives, and outlive the command that started
 * them. A JVM that only waits would take more memory than some guests. What there is of them is
 * seen by their command lines, so nothing has to be kept of them.
 *
 * @param name by which those of one kind are known: {@code $0} of the script
 * @param script whose first argument is the process; it ends when that does
 */
public record Watchers(String name, String script) {
  /** The arguments of each that watches for a process, without that. */
  public Stream<List<String>> of(long process) {
    var words = "\0" + name + "\0" + process + "\0";
    return ProcessHandle.allProcesses()
        .map(Watchers::line)
        .filter(line -> line.contains(words))
        .map(line -> line.substring(line.indexOf(words) + words.length()))
        .map(line -> Arrays.asList(line.split("\0")));
  }

  private static String line(ProcessHandle process) {
    try {
      return Files.readString(Path.of("/proc", Long.toString(process.pid()), "cmdline"));
    } catch (IOException e) {
      return ""; // It has ended, or its words are no text.
    }
  }

  /** One that is to be started. It writes nowhere, and needs its caller's files no more. */
  public ProcessBuilder prepare(long process, List<String> arguments) {
    var line = new ArrayList<>(List.of("setsid", "sh", "-c", script, name));
    line.add(Long.toString(process));
    line.addAll(arguments);
    return new ProcessBuilder(line)
        .directory(Path.of("/").toFile())
        .redirectInput(Path.of("/dev/null").toFile())
        .redirectErrorStream(true)
        .redirectOutput(ProcessBuilder.Redirect.DISCARD);
  }
}
