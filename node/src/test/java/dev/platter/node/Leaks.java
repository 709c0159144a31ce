package dev.platter.node;

import static org.assertj.core.api.Assertions.assertThat;

import dev.platter.model.PlatterException;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;

/** Looks for passwords where they must not be, as they are and inside any text in base64. */
final class Leaks {
  private final List<String> needles = new ArrayList<>();

  Leaks(String... passwords) {
    for (var password : passwords) {
      needles.add(password);
      for (var offset = 0; offset < 3; offset++) {
        needles.add(base64(password, offset));
      }
    }
  }

  /** What stays the same of it whatever is before and behind it: three bytes make four letters. */
  private static String base64(String password, int offset) {
    var bytes = (" ".repeat(offset) + password).getBytes(StandardCharsets.UTF_8);
    return Base64.getEncoder()
        .encodeToString(bytes)
        .substring((offset * 8 + 5) / 6, bytes.length * 8 / 6);
  }

  void assertNoneIn(String text, String what) {
    for (var needle : needles) {
      // Not by AssertJ, which would show the text.
      assertThat(text.contains(needle)).as("'%s' is in %s", needle, what).isFalse();
    }
  }

  /** With all that a user or a log may see of it. */
  void assertNoneIn(PlatterException e) {
    var all = new StringWriter();
    e.printStackTrace(new PrintWriter(all));
    assertNoneIn(all + e.next() + e.details(), "an error: " + e.getMessage());
  }

  /** Every file below; returns how many there are. */
  int assertNoneInFiles(Path directory) throws IOException {
    try (var found = Files.walk(directory)) {
      var files = found.filter(f -> Files.isRegularFile(f, LinkOption.NOFOLLOW_LINKS)).toList();
      for (var file : files) {
        assertNoneIn(Files.readString(file, StandardCharsets.ISO_8859_1), file.toString());
      }
      return files.size();
    }
  }

  /** Arguments and environment of every process but this one; returns the programs. */
  Set<String> assertNoneInProcesses() throws IOException {
    var programs = new TreeSet<String>();
    for (var process : ProcessHandle.allProcesses().toList()) {
      if (process.pid() == ProcessHandle.current().pid()) {
        continue;
      }
      var directory = Path.of("/proc", Long.toString(process.pid()));
      for (var file : List.of("cmdline", "environ")) {
        try {
          var text = Files.readString(directory.resolve(file), StandardCharsets.ISO_8859_1);
          assertNoneIn(text, directory.resolve(file).toString());
          if (file.equals("cmdline") && !text.isEmpty()) {
            programs.add(Path.of(text.split("\0", 2)[0]).getFileName() + "");
          }
        } catch (IOException ended) {
          break;
        }
      }
    }
    return programs;
  }
}
