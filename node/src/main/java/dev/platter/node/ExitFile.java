package dev.platter.node;

import dev.platter.plan.Boot;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.OptionalInt;
import java.util.regex.Pattern;

/**
 * What a guest wrote about the end of its program: {@code exit STATUS}. The file is memory of the
 * guest, so it never grows, and what is in it is there whoever has died.
 */
final class ExitFile {
  private static final Pattern EXIT = Pattern.compile("exit ([0-9]{1,3})\n\\x00*");

  private ExitFile() {}

  /** For a guest that has told nothing yet. */
  static void reset(Path file) throws IOException {
    Files.write(file, new byte[Boot.EXIT_BYTES]);
  }

  static OptionalInt read(Path file) throws IOException {
    try (var in = Files.newInputStream(file)) {
      var text = new String(in.readNBytes(Boot.EXIT_BYTES), StandardCharsets.US_ASCII);
      var exit = EXIT.matcher(text);
      return exit.matches() && Integer.parseInt(exit.group(1)) <= 255
          ? OptionalInt.of(Integer.parseInt(exit.group(1)))
          : OptionalInt.empty();
    } catch (NoSuchFileException e) {
      return OptionalInt.empty();
    }
  }
}
