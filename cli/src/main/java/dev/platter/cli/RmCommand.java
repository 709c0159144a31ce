package dev.platter.cli;

import dev.platter.node.Node;
import java.io.IOException;
import java.util.List;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

@Command(
    name = "rm",
    description = "Remove VMs with all their disks, the kept ones too. Images stay.")
final class RmCommand extends NodeCommand {
  @Parameters(paramLabel = "VM", arity = "1..*", description = "Names of VMs.")
  List<String> names = List.of();

  @Option(
      names = {"-f", "--force"},
      description = "Remove running VMs too; the guest is not asked.")
  boolean force;

  @Override
  void run(Node opened) throws IOException {
    for (var name : names) {
      opened.remove(node.vm(name), force);
      out().println(name + " is removed");
    }
    out().flush();
  }
}
