package dev.platter.cli;

import dev.platter.node.Node;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

@Command(name = "start", description = "Start stopped VMs again, from the disks they kept.")
final class StartCommand extends NodeCommand {
  @Parameters(paramLabel = "VM", arity = "1..*", description = "Names of VMs.")
  List<String> names = List.of();

  @Option(
      names = {"-f", "--objects"},
      paramLabel = "FILE",
      description =
          "YAML file of Secrets that the VMs' disks need, or of the pods that hold them; may be repeated.")
  List<String> objects = new ArrayList<>();

  @Override
  void run(Node opened) throws IOException {
    var secrets = Manifest.secrets(objects);
    for (var name : names) {
      opened.start(node.vm(name), secrets);
      out().println(name + " is running");
    }
    out().flush();
  }
}
