package dev.platter.node;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.OptionalInt;
import java.util.regex.Pattern;

/** What a guest wrote about the end of its program: {@code exit STATUS}. A guest may write more. */
final class ExitFile {
  private static final int MOST_BYTES = 32;
  private static final Pattern EXIT = Pattern.compile("exit ([0-9]{1,3})\n");

  private ExitFile() {}

  static OptionalInt read(Path file) throws IOException {
    try (var in = Files.newInputStream(file)) {
      var text = new String(in.readNBytes(MOST_BYTES), StandardCharsets.US_ASCII);
      var exit = EXIT.matcher(text);
      return exit.matches() && Integer.parseInt(exit.group(1)) <= 255
          ? OptionalInt.of(Integer.parseInt(exit.group(1)))
          : OptionalInt.empty();
    } catch (NoSuchFileException e) {
      return OptionalInt.empty();
    }
  }
}
