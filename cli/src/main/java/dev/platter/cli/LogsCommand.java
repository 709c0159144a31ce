package dev.platter.cli;

import dev.platter.model.PlatterException;
import dev.platter.node.Node;
import dev.platter.node.VmStatus;
import java.io.IOException;
import java.io.InputStream;
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

  /** Ctrl-C is the ordinary way out of following, and so is a reader that has seen enough. */
  @Override
  void run(Node opened) throws IOException {
    var log = opened.status(node.vm(name)).consoleLog();
    // A VM whose image is still being pulled has no console yet.
    var wait = follow;
    while (wait && !Files.exists(log)) {
      wait = goesOn(opened) && pause();
    }
    if (!Files.exists(log)) {
      return;
    }
    try (var in = Files.newInputStream(log)) {
      var last = false;
      while (copy(in) && follow && !last && pause()) {
        last = !goesOn(opened);
      }
      copy(in);
    }
  }

  /** False if nobody reads any more. */
  private static boolean copy(InputStream in) throws IOException {
    in.transferTo(System.out);
    return !System.out.checkError();
  }

  private boolean goesOn(Node opened) throws IOException {
    try {
      return opened.status(node.vm(name)).phase() != VmStatus.Phase.STOPPED;
    } catch (PlatterException e) {
      return false;
    }
  }

  private static boolean pause() {
    try {
      Thread.sleep(POLL_MILLIS);
      return true;
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      return false;
    }
  }
}
