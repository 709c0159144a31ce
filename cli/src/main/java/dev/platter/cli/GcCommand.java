package dev.platter.cli;

import dev.platter.node.Node;
import java.io.IOException;
import picocli.CommandLine.Command;

@Command(
    name = "gc",
    description = "Remove images that no VM uses, and what crashed commands left.")
final class GcCommand extends NodeCommand {
  @Override
  void run(Node opened) throws IOException {
    var gone = opened.collect();
    for (var image : gone) {
      out().println("removed " + image.reference() + " (" + image.digest() + ")");
    }
    out().println(gone.size() == 1 ? "1 image removed" : gone.size() + " images removed");
    out().flush();
  }
}
