package dev.platter.node.image;

import dev.platter.image.raw.SparseFile;
import dev.platter.node.durable.Durable;
import dev.platter.node.durable.FileMutex;
import dev.platter.plan.StateLayout;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.FileTime;
import java.time.Duration;
import java.time.Instant;
import java.util.List;

/**
 * The directories of layers, and what becomes of those that nobody uses. The time of a directory is
 * when somebody last wanted it, and a layer's is later than that of all layers on top of it: so the
 * oldest is hardly ever one that another was made on. If it is, as where somebody was killed, it is
 * made again with the same bytes.
 *
 * <p>A plan is published before its layers are looked for, and both that look and a removal hold
 * the lock: so whoever needs a layer either keeps it, or finds it missing and makes it again.
 */
final class LayerDirectories {
  private static final Duration PATIENCE = Duration.ofHours(1);
  private static final String UNFINISHED = "unfinished-";

  /** Beside the names of those who make layers: under it lies what is being taken away. */
  private static final String REMOVED = "removed";

  private final StateLayout layout;

  LayerDirectories(StateLayout layout) {
    this.layout = layout;
  }

  /** Of everything that is done to layers but making one. */
  FileMutex take() throws IOException {
    return take(layout.layersLock());
  }

  /** Of the one who makes layers from a place. */
  FileMutex take(Path lock) throws IOException {
    return FileMutex.take(lock, "the layers of container images", PATIENCE);
  }

  /**
   * Notes that somebody wants them.
   *
   * @param chains from the lowest
   */
  void touch(List<String> chains) throws IOException {
    var now = Instant.now();
    for (var i = 0; i < chains.size(); i++) {
      var above = chains.size() - i;
      Files.setLastModifiedTime(layout.layer(chains.get(i)), FileTime.from(now.plusMillis(above)));
    }
  }

  /** What all of them take on the disk, also those that are being made. */
  long bytes() throws IOException {
    long bytes = 0;
    for (var directory : list()) {
      try (var files = Files.list(directory)) {
        for (var file : files.filter(Files::isRegularFile).toList()) {
          bytes += SparseFile.allocated(file);
        }
      } catch (NoSuchFileException e) {
        // Somebody is done with it.
      }
    }
    return bytes;
  }

  /** Removes those that nobody uses, and what is left of those that were not finished. */
  void collect(ContainerImages.Users users) throws IOException {
    if (Files.isDirectory(layout.layers())) {
      try (var _ = take()) {
        for (var directory : list()) {
          if (isUnfinished(directory)) {
            abandon(directory);
          }
        }
        removeOldest(users, _ -> true);
      }
    }
  }

  /**
   * Removes those that nobody uses, the longest unwanted first, for as long as somebody wants that.
   * Does nothing if somebody else is at them just now.
   */
  void makeRoom(ContainerImages.Users users, Room room) throws IOException {
    if (Files.isDirectory(layout.layers())) {
      var lock = FileMutex.tryTake(layout.layersLock());
      if (lock.isPresent()) {
        try (var _ = lock.get()) {
          removeOldest(users, room);
        }
      }
    }
  }

  private void removeOldest(ContainerImages.Users users, Room room) throws IOException {
    var used = users.layers();
    var unused =
        list().stream()
            .filter(directory -> !isUnfinished(directory) && !used.contains(directory))
            .map(Layer::of)
            .sorted()
            .toList();
    for (var layer : unused) {
      if (!room.isWanted(layer.wanted())) {
        return;
      }
      remove(layer.directory());
    }
  }

  /** Asked before each removal. */
  interface Room {
    /**
     * Whether there is still too little.
     *
     * @param oldest when somebody last wanted the layer that is to go
     */
    boolean isWanted(Instant oldest) throws IOException;
  }

  private record Layer(Path directory, Instant wanted) implements Comparable<Layer> {
    static Layer of(Path directory) {
      return new Layer(directory, Instant.ofEpochMilli(directory.toFile().lastModified()));
    }

    @Override
    public int compareTo(Layer other) {
      return wanted.compareTo(other.wanted);
    }
  }

  /** It disappears by one rename: half a layer would be taken for a whole one. */
  private void remove(Path directory) throws IOException {
    var away = layout.unfinishedLayer(REMOVED);
    Durable.deleteTree(away);
    Files.move(directory, away, StandardCopyOption.ATOMIC_MOVE);
    Durable.deleteTree(away);
  }

  private void abandon(Path unfinished) throws IOException {
    var maker = String.valueOf(unfinished.getFileName()).substring(UNFINISHED.length());
    var lock = FileMutex.tryTake(layout.layersLock(maker));
    if (lock.isPresent()) {
      try (var _ = lock.get()) {
        Durable.deleteTree(unfinished);
      }
    }
  }

  private static boolean isUnfinished(Path directory) {
    return String.valueOf(directory.getFileName()).startsWith(UNFINISHED);
  }

  private List<Path> list() throws IOException {
    try (var directories = Files.list(layout.layers())) {
      return directories.toList();
    } catch (NoSuchFileException e) {
      return List.of();
    }
  }
}
