package dev.platter.registry;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;

/**
 * Which files say what is special about registries: a {@code registries.conf} and what lies beside
 * it in {@code registries.conf.d}, in the order of {@code containers-registries.conf.d(5)}. What a
 * later one says of a prefix counts.
 */
final class RegistriesConfFiles {
  private static final String NAME = "registries.conf";

  private RegistriesConfFiles() {}

  /**
   * @param users directories of the user, of which the first with a file counts
   * @param system the directory of the machine, which counts if the user has no file
   */
  static List<Path> of(Map<String, String> environment, List<Path> users, Path system)
      throws IOException {
    String named = environment.getOrDefault("CONTAINERS_REGISTRIES_CONF", "");
    if (!named.isEmpty() && Files.isRegularFile(Path.of(named))) {
      return withDropIns(Path.of(named));
    }
    for (Path user : users) {
      if (Files.isRegularFile(user.resolve(NAME))) {
        return withDropIns(user.resolve(NAME));
      }
    }
    List<Path> files = new ArrayList<>(withDropIns(system.resolve(NAME)));
    for (Path user : users.reversed()) {
      files.addAll(withDropIns(user.resolve(NAME)));
    }
    return files;
  }

  private static List<Path> withDropIns(Path file) throws IOException {
    List<Path> files = new ArrayList<>();
    if (Files.isRegularFile(file)) {
      files.add(file);
    }
    Path directory = file.resolveSibling(file.getFileName() + ".d");
    if (Files.isDirectory(directory)) {
      try (Stream<Path> entries = Files.list(directory)) {
        entries
            .filter(entry -> entry.toString().endsWith(".conf") && Files.isRegularFile(entry))
            .sorted()
            .forEach(files::add);
      }
    }
    return files;
  }
}
