package dev.platter.node.volumes;

import com.fasterxml.jackson.databind.ObjectMapper;
import dev.platter.node.durable.Durable;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * Things of one kind, each a file of bytes and a record. The record is what counts: it is published
 * when the bytes are complete, and goes before they do. Bytes without a record are what a process
 * left that died; nobody was told of them, or everybody that they are gone.
 */
final class Records<T> {
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final String RECORD = ".json";
  private static final String BYTES = ".raw";

  private final Path directory;
  private final Class<T> type;

  Records(Path directory, Class<T> type) throws IOException {
    this.directory = directory;
    this.type = type;
    Durable.makeDirectories(directory);
  }

  Path bytes(String id) {
    return directory.resolve(id + BYTES);
  }

  private Path record(String id) {
    return directory.resolve(id + RECORD);
  }

  Optional<T> find(String id) throws IOException {
    try {
      return Optional.of(JSON.readValue(Files.readAllBytes(record(id)), type));
    } catch (NoSuchFileException e) {
      return Optional.empty();
    }
  }

  /** By id. */
  List<T> list() throws IOException {
    var all = new ArrayList<T>();
    for (var name : names()) {
      if (name.endsWith(RECORD)) {
        find(name.substring(0, name.length() - RECORD.length())).ifPresent(all::add);
      }
    }
    return all;
  }

  void publish(String id, T thing) throws IOException {
    Durable.publish(record(id), JSON.writeValueAsBytes(thing));
  }

  /**
   * Deletes the bytes of what is not published, and will not be. Bytes that cannot be deleted stay
   * until somebody looks for {@link #leftovers}.
   *
   * @return why it will not be
   */
  <E extends Exception> E abandoned(String id, E why) {
    try {
      if (Files.notExists(record(id))) { // It may be there, and not known to last.
        Durable.delete(bytes(id));
      }
    } catch (IOException e) {
      why.addSuppressed(e);
    }
    return why;
  }

  void unpublish(String id) throws IOException {
    Durable.delete(record(id));
  }

  /** What counts for nothing. */
  List<Path> leftovers() throws IOException {
    var left = new ArrayList<Path>();
    for (var name : names()) {
      var known =
          name.endsWith(RECORD)
              || (name.endsWith(BYTES)
                  && Files.exists(record(name.substring(0, name.length() - BYTES.length()))));
      if (!known) {
        left.add(directory.resolve(name));
      }
    }
    return left;
  }

  private List<String> names() throws IOException {
    try (var entries = Files.list(directory)) {
      return entries.map(entry -> String.valueOf(entry.getFileName())).sorted().toList();
    }
  }
}
