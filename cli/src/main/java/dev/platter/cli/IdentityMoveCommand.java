package dev.platter.cli;

import dev.platter.node.Node;
import java.io.IOException;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

@Command(
    name = "move",
    description =
        "Move the disk of an identity to another pool of this machine. No VM may have it.")
final class IdentityMoveCommand extends NodeCommand {
  @Parameters(paramLabel = "IDENTITY", description = "Name of the identity.")
  @Nullable String name;

  @Option(
      names = "--to",
      paramLabel = "POOL",
      required = true,
      description = "The pool that is to have the disk; 'platter pools' lists them.")
  @Nullable String pool;

  @Override
  void run(Node opened) throws IOException {
    var disk = opened.identities().move(node.identity(name), String.valueOf(pool));
    out().println(name + " is in " + disk.file());
    out().flush();
  }
}
