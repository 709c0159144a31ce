package dev.platter.node.image;

import dev.platter.node.durable.Durable;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/**
 * What makes it possible to open an image again while its registry is away. It is written when the
 * image is open and somebody reads it already: without it the registry is asked again.
 */
final class Keepsakes {
  private final Map<Path, byte[]> files = new ConcurrentHashMap<>();

  void add(Path file, byte[] bytes) {
    files.put(file, bytes);
  }

  void write() {
    files.forEach(
        (file, bytes) -> {
          try {
            Durable.makeDirectories(Durable.parent(file));
            Durable.publish(file, bytes);
          } catch (IOException e) {
            System.err.println("cannot keep " + file + ": " + e);
          }
        });
  }
}
