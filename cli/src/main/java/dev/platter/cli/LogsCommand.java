package dev.platter.cli;

import dev.platter.node.Node;
import java.io.IOException;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

@Command(name = "logs", description = "Print what a VM wrote to its console.")
final class LogsCommand extends NodeCommand {
  @Parameters(paramLabel = "VM", description = "Name of the VM.")
  @Nullable String name;

  @Option(
      names = {"-f", "--follow"},
      description = "Go on until the VM stops.")
  boolean follow;

  @Override
  void run(Node opened) throws IOException {
    new LogFollower(opened, node.vm(name)).copy(follow, 0);
  }
}
