package dev.platter.cli;

import dev.platter.node.Node;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Parameters;

@Command(name = "console", description = "Connect to a VM's serial console; ctrl-] leaves it.")
final class ConsoleCommand extends NodeCommand {
  @Parameters(paramLabel = "VM", description = "Name of the VM.")
  @Nullable String name;

  @Override
  boolean tidy() {
    return false;
  }

  @Override
  void run(Node opened) throws Exception {
    Console.attach(opened.status(node.vm(name)).consoleSocket(), out());
  }
}
