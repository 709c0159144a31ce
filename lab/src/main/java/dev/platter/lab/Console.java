package dev.platter.lab;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.function.BooleanSupplier;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The serial console of a guest, read from the file it is logged to. The file need not exist yet.
 *
 * <p>Each {@link #await} looks only at what came after the previous match, so that the same prompt
 * can be waited for again. The file is read whole each time: consoles are small.
 */
public final class Console {
  private static final Duration POLL = Duration.ofMillis(20);

  private final Path log;
  private final BooleanSupplier alive;
  private int position;

  private Console(Path log, BooleanSupplier alive) {
    this.log = log;
    this.alive = alive;
  }

  public static Console at(Path log) {
    return new Console(log, () -> true);
  }

  /** Gives up waiting as soon as the guest is gone. */
  public static Console at(Path log, BooleanSupplier alive) {
    return new Console(log, alive);
  }

  /**
   * Waits until a match appears and returns the line it is in, or fails with the end of the
   * console.
   */
  public String await(String regex, Duration limit) {
    Pattern pattern = Pattern.compile(regex, Pattern.MULTILINE);
    long end = System.nanoTime() + limit.toNanos();
    while (true) {
      boolean last = !alive.getAsBoolean() || System.nanoTime() - end > 0;
      String text = text();
      Matcher match = pattern.matcher(text);
      if (match.find(Math.min(position, text.length()))) {
        position = match.end();
        int start = text.lastIndexOf('\n', match.start()) + 1;
        int stop = text.indexOf('\n', match.end());
        return text.substring(start, stop < 0 ? text.length() : stop);
      }
      if (last) {
        throw new AssertionError(
            "no '%s' on the console within %s%s; it ends with:%n%s"
                .formatted(
                    regex, limit, alive.getAsBoolean() ? "" : " (the guest is gone)", tail(text)));
      }
      sleep();
    }
  }

  /** All lines so far. */
  public List<String> lines() {
    return text().lines().toList();
  }

  /** The disks the marker guest has told of so far. */
  public List<GuestDisk> disks() {
    return lines().stream().map(GuestDisk::parse).flatMap(Optional::stream).toList();
  }

  /** The only disk with this serial. */
  public GuestDisk disk(String serial) {
    List<GuestDisk> found = disks().stream().filter(d -> d.serial().equals(serial)).toList();
    if (found.size() != 1) {
      throw new AssertionError("not one disk with serial %s: %s".formatted(serial, disks()));
    }
    return found.getFirst();
  }

  private String text() {
    try {
      return Files.exists(log) ? new String(Files.readAllBytes(log), UTF_8).replace("\r", "") : "";
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static String tail(String text) {
    List<String> lines = text.lines().toList();
    return String.join("\n", lines.subList(Math.max(0, lines.size() - 30), lines.size()));
  }

  private static void sleep() {
    try {
      Thread.sleep(POLL);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new AssertionError("interrupted", e);
    }
  }
}
