package dev.platter.cli;

import dev.platter.node.Node;
import java.io.IOException;
import java.util.List;
import picocli.CommandLine.Command;
import picocli.CommandLine.Parameters;

@Command(name = "pull", description = "Fetch images, so that VMs that use them start at once.")
final class PullCommand extends NodeCommand {
  @Parameters(
      paramLabel = "IMAGE",
      arity = "1..*",
      description = "A registry reference, or oci:DIRECTORY:TAG for a layout on this machine.")
  List<String> references = List.of();

  @Override
  boolean tidy() {
    return false;
  }

  @Override
  void run(Node opened) throws IOException {
    for (var reference : references) {
      out().println(reference + " is " + opened.pull(reference));
    }
    out().flush();
  }
}
