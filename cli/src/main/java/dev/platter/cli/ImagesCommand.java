package dev.platter.cli;

import dev.platter.image.raw.SparseFile;
import dev.platter.node.Node;
import java.io.IOException;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;

@Command(name = "images", description = "List the images on this machine.")
final class ImagesCommand extends NodeCommand {
  @Mixin OutputOption output = new OutputOption();

  @Override
  boolean tidy() {
    return false;
  }

  @Override
  void run(Node opened) throws IOException {
    var listing = new Listing("reference", "digest", "format", "virtualSize", "onDisk", "pulled");
    for (var image : opened.images().list()) {
      listing.row(
          image.reference(),
          output.table() ? image.digest().substring(0, 19) : image.digest(),
          image.format(),
          new Bytes(image.virtualSize()),
          new Bytes(SparseFile.allocated(opened.layout().base(image.digest()))),
          image.pulled());
    }
    listing.print(output.format, out());
  }
}
