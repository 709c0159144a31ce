package dev.platter.node.volumes;

import dev.platter.block.lazy.LazyVolume;
import dev.platter.node.durable.Durable;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Set;
import java.util.stream.Collectors;

/** Which blocks of volumes have come that begin as an image: a map of each, as long as it does. */
record DrawnMaps(Path directory) {
  /** Which of its blocks have come. */
  Path map(String id) {
    return directory.resolve(id + ".map");
  }

  /** The same until the next boot. */
  Path live(String id) {
    return directory.resolve(id + ".live");
  }

  /** Nothing has come yet. */
  void make(String id, long size) throws IOException {
    Durable.makeDirectories(directory);
    delete(id);
    Durable.publish(map(id), LazyVolume.nothing(size));
  }

  void delete(String id) throws IOException {
    Files.deleteIfExists(live(id));
    Durable.delete(map(id));
  }

  /** Of all that have one. */
  Set<String> ids() throws IOException {
    if (!Files.isDirectory(directory)) {
      return Set.of(); // A pool of before, which may be full.
    }
    try (var maps = Files.list(directory)) {
      return maps.map(map -> String.valueOf(map.getFileName()).replaceFirst("\\.(map|live)$", ""))
          .collect(Collectors.toSet());
    }
  }
}
