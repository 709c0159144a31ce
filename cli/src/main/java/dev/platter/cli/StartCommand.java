package dev.platter.cli;

import dev.platter.node.Node;
import java.io.IOException;
import java.util.List;
import picocli.CommandLine.Command;
import picocli.CommandLine.Parameters;

@Command(name = "start", description = "Start stopped VMs again, from the disks they kept.")
final class StartCommand extends NodeCommand {
  @Parameters(paramLabel = "VM", arity = "1..*", description = "Names of VMs.")
  List<String> names = List.of();

  @Override
  void run(Node opened) throws IOException {
    for (var name : names) {
      opened.start(node.vm(name));
      out().println(name + " is running");
    }
    out().flush();
  }
}
