package dev.platter.cli;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;

/** Runs the command as a user does: in this process, or in one of its own that can be killed. */
final class Platter {
  private Platter() {}

  record Result(int status, String out, String err) {
    JsonNode json() throws IOException {
      return new ObjectMapper().readTree(out);
    }
  }

  static Result run(Object... args) {
    var out = new StringWriter();
    var err = new StringWriter();
    var status = Main.run(new PrintWriter(out), new PrintWriter(err), words(args));
    return new Result(status, out.toString(), err.toString());
  }

  /** Its standard output and error go to {@code log}. */
  static Process start(Map<String, String> environment, Path log, Object... args)
      throws IOException {
    var command =
        new ArrayList<>(
            List.of(
                // Whoever runs the tests in the background may ignore ctrl-C, and children inherit
                // that.
                "env",
                "--default-signal=INT",
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "--enable-native-access=ALL-UNNAMED",
                "-cp",
                System.getProperty("java.class.path"),
                Main.class.getName()));
    command.addAll(List.of(words(args)));
    var builder = new ProcessBuilder(command).redirectErrorStream(true);
    builder.environment().putAll(environment);
    return builder.redirectOutput(log.toFile()).start();
  }

  private static String[] words(Object... args) {
    return Arrays.stream(args).map(String::valueOf).toArray(String[]::new);
  }
}
