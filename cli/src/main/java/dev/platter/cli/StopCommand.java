package dev.platter.cli;

import dev.platter.node.Node;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

@Command(
    name = "stop",
    description = "Stop VMs. Kept disks stay; what was written to the others is gone.")
final class StopCommand extends NodeCommand {
  @Parameters(paramLabel = "VM", arity = "1..*", description = "Names of VMs.")
  List<String> names = List.of();

  @Option(
      names = {"-t", "--time"},
      paramLabel = "SECONDS",
      description = "How long the guest may take to shut down (default: 30).")
  int seconds = 30;

  @Override
  void run(Node opened) throws IOException {
    for (var name : names) {
      opened.stop(node.vm(name), Duration.ofSeconds(Math.max(0, seconds)));
      out().println(name + " is stopped");
    }
    out().flush();
  }
}
