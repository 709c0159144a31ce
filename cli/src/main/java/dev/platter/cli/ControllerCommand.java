package dev.platter.cli;

import dev.platter.cluster.Controllers;
import java.util.Optional;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Spec;

@Command(
    name = "controller",
    description = {
      "Run the controllers and the webhook of a cluster.",
      "'platter install' runs it in the cluster; what it is told stands in the environment there."
    })
final class ControllerCommand implements Callable<Integer> {
  @Spec @Nullable CommandSpec spec;

  @Override
  public Integer call() throws Exception {
    if (spec == null) {
      throw new IllegalStateException("picocli sets the spec before it runs a command");
    }
    Controllers.run(
        name -> Optional.ofNullable(System.getenv(name)), spec.commandLine().getErr()::println);
    return 0;
  }
}
