package dev.platter.cli;

import com.fasterxml.jackson.databind.ObjectMapper;
import dev.platter.image.fill.DiskFill;
import dev.platter.registry.WebFiles;
import java.io.IOException;
import java.util.Set;

/**
 * What commands that bring a disk need of the JVM and of the machine, loaded by a thread of its own
 * while the command line is read: both take some tens of milliseconds.
 */
final class Preparation {
  private static final Set<String> COMMANDS = Set.of("import", "upload-server", "fill");

  private Preparation() {}

  static void begin(String... args) {
    if (args.length > 0 && COMMANDS.contains(args[0])) {
      Thread.ofPlatform().name("prepare").daemon().start(Preparation::run);
    }
  }

  private static void run() {
    try {
      // In the order in which they are wanted.
      var _ = new ObjectMapper();
      WebFiles.prepare();
      DiskFill.prepare();
    } catch (IOException | RuntimeException | LinkageError e) {
      // Who needs it finds out, and can say what it was for.
    }
  }
}
