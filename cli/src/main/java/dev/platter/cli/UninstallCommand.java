package dev.platter.cli;

import dev.platter.cluster.api.Names;
import dev.platter.cluster.install.Uninstall;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** It deletes nothing itself: who deletes what stays in kubectl's hands, and in its output. */
@Command(
    name = "uninstall",
    description = {
      "Print what platter install printed, for kubectl to delete, if the cluster has no VMs any more.",
      "platter uninstall | kubectl delete -f -   With VMs there, or volumes that would be left"
          + " without their driver (exit status 5), it prints nothing, so that nothing"
          + " is deleted. Give it the options of the install. The commands that"
          + " afterwards take Platter's labels and annotation from the nodes go to standard error."
    })
final class UninstallCommand implements Callable<Integer> {
  @Mixin InstallOptions install = new InstallOptions();

  @Option(
      names = "--context",
      paramLabel = "NAME",
      description = "The context of the kubeconfig (default: the current one).")
  @Nullable String context;

  @Spec CommandSpec spec;

  @Override
  public Integer call() {
    var labels = Uninstall.refuseIfInUse(context);
    var out = spec.commandLine().getOut();
    out.print(install.yaml());
    out.flush();
    if (!labels.isEmpty()) {
      var err = spec.commandLine().getErr();
      err.printf(
          """
          Nodes keep their labels and an annotation. When all is deleted:
            kubectl annotate nodes -l %1$s %2$s-
            kubectl label nodes -l %1$s %3$s-
          """,
          Names.NODE, Names.MOVES, String.join("- ", labels));
      err.flush();
    }
    return 0;
  }
}
