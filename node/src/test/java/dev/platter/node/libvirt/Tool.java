package dev.platter.node.libvirt;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** A foreign program, run to its end with a limit of 90 s. */
record Tool(int status, String out, String err) {
  static Tool run(List<String> command) {
    try {
      Path out = Files.createTempFile("tool", ".out");
      Path err = Files.createTempFile("tool", ".err");
      try {
        Process process =
            new ProcessBuilder(command)
                .redirectInput(Path.of("/dev/null").toFile())
                .redirectOutput(out.toFile())
                .redirectError(err.toFile())
                .start();
        if (!process.waitFor(90, TimeUnit.SECONDS)) {
          process.destroyForcibly();
          throw new AssertionError(command + " still runs after 90 s");
        }
        return new Tool(
            process.exitValue(), Files.readString(out, UTF_8), Files.readString(err, UTF_8));
      } finally {
        Files.delete(out);
        Files.delete(err);
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    } catch (InterruptedException e) {
      throw new AssertionError(e);
    }
  }

  /** What it printed, if it succeeded. */
  String expect() {
    if (status != 0) {
      throw new AssertionError("exit status " + status + ": " + out + err);
    }
    return out;
  }
}
