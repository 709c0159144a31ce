package dev.platter.node.image;

import dev.platter.image.BadImageException;
import dev.platter.image.Digest;
import dev.platter.image.lazy.LayerIndex;
import dev.platter.image.lazy.LayerIndexes;
import dev.platter.node.durable.Durable;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.time.Instant;
import java.util.Comparator;
import java.util.Optional;

/**
 * Indexes of layers that this machine has read from end to end, and found right. They outlive their
 * images: an image that was removed and is wanted again need not be read from end to end again.
 * Only this machine's owner can write here, so they are as good as the day they were made.
 */
final class IndexStore implements LayerIndexes {
  /** About three in a hundred of the layers that they are for. */
  private static final long MOST_BYTES = 512L << 20;

  private final Path directory;

  IndexStore(Path directory) {
    this.directory = directory;
  }

  @Override
  public synchronized Optional<LayerIndex> find(Digest layer) throws IOException {
    var file = file(layer);
    try {
      var index = LayerIndex.read(ByteBuffer.wrap(Files.readAllBytes(file)));
      Files.setLastModifiedTime(file, FileTime.from(Instant.now()));
      return Optional.of(index);
    } catch (NoSuchFileException e) {
      return Optional.empty();
    } catch (BadImageException e) {
      Durable.delete(file); // of another version; it is made again
      return Optional.empty();
    }
  }

  synchronized void keep(LayerIndex index) throws IOException {
    var bytes = new ByteArrayOutputStream();
    index.writeTo(bytes);
    Durable.makeDirectories(directory);
    Durable.publish(file(index.layer()), bytes.toByteArray());
    forgetOldest();
  }

  private void forgetOldest() throws IOException {
    try (var files = Files.list(directory)) {
      var newestFirst =
          files.sorted(
              Comparator.comparingLong((Path file) -> file.toFile().lastModified()).reversed());
      long bytes = 0;
      for (var file : newestFirst.toList()) {
        bytes += Files.size(file);
        if (bytes > MOST_BYTES) {
          Durable.delete(file);
        }
      }
    }
  }

  private Path file(Digest layer) {
    return directory.resolve(layer.toString().replace(':', '-'));
  }
}
