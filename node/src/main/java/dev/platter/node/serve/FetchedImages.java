package dev.platter.node.serve;

import dev.platter.block.BlockDevice;
import dev.platter.model.PlatterException;
import dev.platter.node.LocalNode;
import dev.platter.node.NodeConfig;
import dev.platter.node.durable.Durable;
import dev.platter.node.image.StreamedImages;
import dev.platter.plan.StateLayout;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;

/**
 * Images that are served: kept where the user says, or in a directory that goes with the process.
 *
 * @param passing the directory that goes
 */
record FetchedImages(StreamedImages images, Optional<Path> passing) implements AutoCloseable {

  static FetchedImages open(ServeOptions options) throws IOException {
    if (options.state().isPresent()) {
      return new FetchedImages(open(options, options.state().get()), Optional.empty());
    }
    var directory = Files.createTempDirectory(options.workDirectory(), "platter-serve-");
    return new FetchedImages(open(options, directory), Optional.of(directory));
  }

  private static StreamedImages open(ServeOptions options, Path directory) throws IOException {
    var layout = new StateLayout(directory, directory.resolve("run"));
    var config = new NodeConfig(layout, Optional.empty(), options.registry());
    return StreamedImages.open(layout, LocalNode.sources(config));
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
