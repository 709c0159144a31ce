package dev.platter.cli;

import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Spec;

@Command(
    name = "install",
    description = {
      "Print all that Platter is on a Kubernetes cluster, as YAML.",
      "platter install | kubectl apply -f -   installs or upgrades; running VMs go on."
    })
final class InstallCommand implements Callable<Integer> {
  @Mixin InstallOptions install = new InstallOptions();

  @Spec CommandSpec spec;

  @Override
  public Integer call() {
    var out = spec.commandLine().getOut();
    out.print(install.yaml());
    out.flush();
    return 0;
  }
}
