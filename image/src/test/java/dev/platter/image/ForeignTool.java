package dev.platter.image;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;

/** Runs the programs of others that say whether we are right. */
public final class ForeignTool {
  private ForeignTool() {}

  /** Standard output; a status other than 0 fails the test with what the tool said. */
  public static String run(Path directory, String... command) throws IOException {
    Path errors = Files.createTempFile("tool-", ".stderr");
    try {
      Process process =
          new ProcessBuilder(command)
              .directory(directory.toFile())
              .redirectError(errors.toFile())
              .start();
      process.getOutputStream().close();
      String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
      assertThat(process.waitFor(60, TimeUnit.SECONDS)).isTrue();
      assertThat(process.exitValue())
          .as("%s: %s", String.join(" ", command), Files.readString(errors))
          .isZero();
      return output;
    } catch (InterruptedException e) {
      throw new AssertionError(e);
    } finally {
      Files.delete(errors);
    }
  }

  /** For what needs a shell. */
  public static String sh(Path directory, String script) throws IOException {
    return run(directory, "sh", "-euc", script);
  }
}
