package dev.platter.cli;

import dev.platter.node.Node;
import dev.platter.node.Progress;
import java.io.PrintWriter;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Spec;

/** A command that works on this machine. What earlier commands left half done is finished first. */
abstract class NodeCommand implements Callable<Integer> {
  @Mixin NodeOptions node = new NodeOptions();

  @Spec @Nullable CommandSpec spec;

  abstract void run(Node node) throws Exception;

  /** Of a command that did what it should. */
  int exitStatus() {
    return 0;
  }

  /** Whether the command needs a tidy machine; one that only looks at files does not. */
  boolean tidy() {
    return true;
  }

  @Override
  public final Integer call() throws Exception {
    try (var opened = node.open(progress())) {
      if (tidy()) {
        opened.tidy();
      }
      return Interrupt.guard(
          () -> {
            run(opened);
            return exitStatus();
          });
    }
  }

  Progress progress() {
    return new ShowProgress(err(), Terminal.onError());
  }

  PrintWriter out() {
    return spec().commandLine().getOut();
  }

  PrintWriter err() {
    return spec().commandLine().getErr();
  }

  private CommandSpec spec() {
    if (spec == null) {
      throw new IllegalStateException("picocli sets the spec before it runs a command");
    }
    return spec;
  }
}
