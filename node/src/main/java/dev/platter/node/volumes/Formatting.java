package dev.platter.node.volumes;

import dev.platter.node.durable.Durable;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * Which volumes are being given their file system: a file for each. What is on such a volume is at
 * most a part of a file system that nobody has used yet, whoever died while making it.
 */
record Formatting(Path directory) {
  boolean isBegun(String id) {
    return Files.exists(directory.resolve(id));
  }

  void begin(String id) throws IOException {
    Durable.makeDirectories(directory);
    Durable.publish(directory.resolve(id), "");
  }

  /** Before anybody uses it. */
  void end(String id) throws IOException {
    if (isBegun(id)) {
      Durable.delete(directory.resolve(id));
    }
  }
}
