package dev.platter.cli;

import dev.platter.image.raw.SparseFile;
import dev.platter.node.Node;
import java.io.IOException;
import java.util.Locale;
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
    var listing =
        new Listing(
            "reference",
            "digest",
            "state",
            "size",
            "present",
            "fetched",
            "deduplicated",
            "onDisk",
            "pulled");
    for (var status : opened.images().list()) {
      var image = status.image();
      listing.row(
          image.reference(),
          output.table() ? image.digest().substring(0, 19) : image.digest(),
          image.state().name().toLowerCase(Locale.ROOT),
          new Bytes(image.virtualSize()),
          new Bytes(status.present()),
          new Bytes(image.fetched()),
          new Bytes(image.deduplicated()),
          new Bytes(SparseFile.allocated(opened.layout().base(image.digest()))),
          image.pulled());
    }
    listing.print(output.format, out());
  }
}
