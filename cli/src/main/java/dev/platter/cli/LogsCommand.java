package dev.platter.cli;

import dev.platter.node.Node;
import dev.platter.node.VmStatus;
import java.io.IOException;
import java.nio.file.Files;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

@Command(name = "logs", description = "Print what a VM wrote to its console.")
final class LogsCommand extends NodeCommand {
  private static final long POLL_MILLIS = 200;

  @Parameters(paramLabel = "VM", description = "Name of the VM.")
  @Nullable String name;

  @Option(
      names = {"-f", "--follow"},
      description = "Go on until the VM stops.")
  boolean follow;

  @Override
  void run(Node opened) throws IOException, InterruptedException {
    var status = opened.status(node.namespace, String.valueOf(name));
    if (!Files.exists(status.consoleLog())) {
      return;
    }
    try (var log = Files.newInputStream(status.consoleLog())) {
      while (true) {
        var running =
            opened.status(node.namespace, String.valueOf(name)).phase() != VmStatus.Phase.STOPPED;
        log.transferTo(System.out);
        System.out.flush();
        if (!follow || !running) {
          return;
        }
        Thread.sleep(POLL_MILLIS);
      }
    }
  }
}
