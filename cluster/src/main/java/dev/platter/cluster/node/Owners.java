package dev.platter.cluster.node;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.json.JsonMapper;
import dev.platter.node.durable.Durable;
import dev.platter.plan.VmKey;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.Consumer;

/**
 * Which VMs of this machine belong to the cluster, and to what in it. Written before the VM is made
 * and deleted after it is gone; a VM that is not named here is somebody's own and is left alone.
 */
final class Owners {
  private static final ObjectMapper JSON = JsonMapper.builder().build();
  private static final String SUFFIX = ".json";

  private final Path directory;
  private final Consumer<String> log;

  Owners(Path directory, Consumer<String> log) throws IOException {
    this.directory = directory;
    this.log = log;
    Durable.makeDirectories(directory);
  }

  private Path file(VmKey key) {
    return directory.resolve(key.word() + SUFFIX);
  }

  void put(Owner owner) throws IOException {
    Durable.publish(file(owner.key()), JSON.writeValueAsString(owner));
  }

  void remove(VmKey key) throws IOException {
    Files.deleteIfExists(file(key));
    Durable.syncDirectory(directory);
  }

  Optional<Owner> find(VmKey key) throws IOException {
    try {
      return Optional.of(JSON.readValue(Files.readString(file(key)), Owner.class));
    } catch (NoSuchFileException e) {
      return Optional.empty();
    }
  }

  List<Owner> all() throws IOException {
    var out = new ArrayList<Owner>();
    try (var files = Files.newDirectoryStream(directory, "*" + SUFFIX)) {
      for (var file : files) {
        try {
          out.add(JSON.readValue(Files.readString(file), Owner.class));
        } catch (NoSuchFileException e) {
          // Its VM has just been removed.
        } catch (JsonProcessingException e) {
          log.accept(file + " cannot be read: " + e.getMessage());
        }
      }
    }
    return out;
  }
}
