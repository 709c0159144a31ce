package dev.platter.image.testing;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * Runs qemu-img, qemu-io and stat, the oracles of these tests. A run that fails is a test that
 * fails.
 */
public final class Qemu {
  private Qemu() {}

  /** Runs qemu-img and returns what it printed. */
  public static String img(Object... arguments) {
    return check(command("qemu-img", arguments));
  }

  /** Runs qemu-img and returns its exit status, for commands where a failure is an answer. */
  public static int imgStatus(Object... arguments) {
    return run(command("qemu-img", arguments)).status;
  }

  /** Runs qemu-io commands on an image. */
  public static String io(Path image, String format, String... commands) {
    return check(ioCommand(image, format, commands));
  }

  /** Runs qemu-io commands of which some may be refused, as random ones are. */
  public static void ioTolerant(Path image, String format, String... commands) {
    run(ioCommand(image, format, commands));
  }

  /** Bytes that a file takes on disk, as stat counts them. */
  public static long allocated(Path file) {
    return 512 * Long.parseLong(check(command("stat", "-c", "%b", file)).trim());
  }

  private static List<String> ioCommand(Path image, String format, String... commands) {
    List<String> all = command("qemu-io", "-f", format, "-d", "unmap", "-t", "unsafe");
    for (String c : commands) {
      all.add("-c");
      all.add(c);
    }
    all.add(image.toString());
    return all;
  }

  private static List<String> command(String program, Object... arguments) {
    List<String> all = new ArrayList<>(List.of(program));
    Arrays.stream(arguments).map(Object::toString).forEach(all::add);
    return all;
  }

  private static String check(List<String> command) {
    Result result = run(command);
    if (result.status != 0) {
      throw new AssertionError(command + " ended with " + result.status + ": " + result.output);
    }
    return result.output;
  }

  private static Result run(List<String> command) {
    try {
      Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
      process.getOutputStream().close();
      String output = new String(process.getInputStream().readAllBytes(), UTF_8);
      return new Result(process.waitFor(), output);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    } catch (InterruptedException e) {
      throw new AssertionError(e);
    }
  }

  private record Result(int status, String output) {}
}
