package dev.platter.node.serve;

import dev.platter.block.BlockDevice;
import dev.platter.model.PlatterException;
import dev.platter.node.LocalNode;
import dev.platter.node.NodeConfig;
import dev.platter.node.durable.Durable;
import dev.platter.node.durable.FileMutex;
import dev.platter.node.image.StreamedImages;
import dev.platter.plan.StateLayout;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.attribute.BasicFileAttributes;
import java.time.Duration;
import java.time.Instant;
import java.util.Optional;

/**
 * Images that are served: kept where the user says, or in a directory that goes with the process.
 * What a process leaves that is killed is removed by the next one: it holds no lock any more.
 *
 * @param passing the directory that goes
 */
record FetchedImages(StreamedImages images, Optional<Path> passing) implements AutoCloseable {
  private static final String PREFIX = "platter-serve-";

  /** Between making its directory and locking it a process does not take so long. */
  private static final Duration TO_LOCK = Duration.ofMinutes(1);

  static FetchedImages open(ServeOptions options) throws IOException {
    if (options.state().isPresent()) {
      return new FetchedImages(open(options, options.state().get()), Optional.empty());
    }
    removeLeftovers(options.workDirectory());
    var directory = Files.createTempDirectory(options.workDirectory(), PREFIX);
    try {
      return new FetchedImages(open(options, directory), Optional.of(directory));
    } catch (IOException | RuntimeException e) {
      Durable.deleteTree(directory);
      throw e;
    }
  }

  private static StreamedImages open(ServeOptions options, Path directory) throws IOException {
    var layout = layout(directory);
    var config = new NodeConfig(layout, Optional.empty(), options.registry());
    return StreamedImages.open(layout, LocalNode.sources(config));
  }

  private static StateLayout layout(Path directory) {
    return new StateLayout(directory, directory.resolve("run"));
  }

  private static void removeLeftovers(Path work) throws IOException {
    try (var found = Files.newDirectoryStream(work, PREFIX + "*")) {
      for (var directory : found) {
        try {
          removeLeftover(directory);
        } catch (IOException e) {
          // Another process removes it, or the next one will.
        }
      }
    }
  }

  private static void removeLeftover(Path directory) throws IOException {
    if (isOurs(directory)) {
      var mutex = FileMutex.tryTake(layout(directory).imagesLock());
      if (mutex.isPresent()) {
        try (var _ = mutex.get()) {
          Durable.deleteTree(directory);
        }
      }
    }
  }

  /**
   * Others may write to the work directory, too. A process of Platter's has made its name from
   * digits, and a lock in it, for this user.
   */
  private static boolean isOurs(Path directory) throws IOException {
    var attributes =
        Files.readAttributes(directory, BasicFileAttributes.class, LinkOption.NOFOLLOW_LINKS);
    return directory.getFileName().toString().matches(PREFIX + "\\d+")
        && attributes.isDirectory()
        && Files.isRegularFile(layout(directory).imagesLock(), LinkOption.NOFOLLOW_LINKS)
        && attributes.lastModifiedTime().toInstant().isBefore(Instant.now().minus(TO_LOCK))
        && Files.getOwner(directory, LinkOption.NOFOLLOW_LINKS)
            .equals(Files.getOwner(Path.of("/proc/self")));
  }

  BlockDevice open(String reference) throws IOException {
    return images.open(reference);
  }

  void goOn() {
    images.goOn();
  }

  Optional<PlatterException> badNews() {
    return images.badNews();
  }

  @Override
  public void close() throws IOException {
    images.close();
    if (passing.isPresent()) {
      Durable.deleteTree(passing.get());
    }
  }
}
