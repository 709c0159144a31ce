package dev.platter.cli;

import dev.platter.cluster.upload.UploadGate;
import java.nio.file.Path;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

@Command(
    name = "upload-gate",
    hidden = true,
    description = {
      "Lead disks that clients of CDI send to the pods that take them.",
      "'platter install --cdi' runs it in the cluster."
    })
final class UploadGateCommand implements Callable<Integer> {
  @Parameters(paramLabel = "DIR", description = "Where its Secret is mounted.")
  Path directory = Path.of("");

  @Spec @Nullable CommandSpec spec;

  @Override
  public Integer call() throws Exception {
    if (spec == null) {
      throw new IllegalStateException("picocli sets the spec before it runs a command");
    }
    var err = spec.commandLine().getErr();
    return Interrupt.guard(
        () -> {
          try {
            UploadGate.run(directory, err::println);
          } catch (InterruptedException e) {
            // It is time to end; who sends a disk tries again at another.
          }
          return 0;
        });
  }
}
