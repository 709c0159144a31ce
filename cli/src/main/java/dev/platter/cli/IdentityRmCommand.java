package dev.platter.cli;

import dev.platter.node.IdentityDisks;
import dev.platter.node.Node;
import java.io.IOException;
import java.util.List;
import picocli.CommandLine.Command;
import picocli.CommandLine.Parameters;

@Command(name = "rm", description = "Remove identities with their disks. No VM may have them.")
final class IdentityRmCommand extends NodeCommand {
  @Parameters(paramLabel = "IDENTITY", arity = "1..*", description = "Names of identities.")
  List<String> names = List.of();

  @Override
  void run(Node opened) throws IOException {
    for (var name : names) {
      var key = node.identity(name);
      if (!opened.identities().remove(key)) {
        throw IdentityDisks.missing(key);
      }
      out().println(name + " is removed");
    }
    out().flush();
  }
}
