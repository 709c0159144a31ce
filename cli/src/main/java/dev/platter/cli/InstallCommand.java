package dev.platter.cli;

import dev.platter.cluster.install.ForeignCdi;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

@Command(
    name = "install",
    description = {
      "Print all that Platter is on a Kubernetes cluster, as YAML.",
      "platter install | kubectl apply -f -   installs or upgrades; running VMs go on."
    })
final class InstallCommand implements Callable<Integer> {
  @Mixin InstallOptions install = new InstallOptions();

  @Option(
      names = "--context",
      paramLabel = "NAME",
      description =
          "The context of the kubeconfig whose cluster is asked, with --cdi, whether it has"
              + " CDI (default: the current one).")
  @Nullable String context;

  @Spec CommandSpec spec;

  @Override
  public Integer call() {
    if (install.cdi && !ForeignCdi.refuseIfThere(context, install.namespace)) {
      var err = spec.commandLine().getErr();
      err.println("platter: no cluster answers; apply this to none that has CDI.");
      err.flush();
    }
    var out = spec.commandLine().getOut();
    out.print(install.yaml());
    out.flush();
    return 0;
  }
}
