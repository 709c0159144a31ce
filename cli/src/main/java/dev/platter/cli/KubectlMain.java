package dev.platter.cli;

import java.io.PrintWriter;
import java.nio.charset.StandardCharsets;
import picocli.CommandLine;
import picocli.CommandLine.Command;

/** The plugin {@code kubectl platter}: what people ask a cluster rather than a machine. */
@Command(
    name = "kubectl-platter",
    description = "What Platter has in the cluster of the kubeconfig.",
    mixinStandardHelpOptions = true,
    scope = CommandLine.ScopeType.INHERIT,
    versionProvider = VersionCommand.class,
    synopsisSubcommandLabel = "COMMAND",
    subcommands = {
      KubeIdentityCommand.class,
      KubeMigrateCommand.class,
      KubeUploadCommand.class,
      CompletionCommand.class,
      VersionCommand.class
    })
public final class KubectlMain {
  private KubectlMain() {}

  public static void main(String[] args) {
    var out = new PrintWriter(System.out, true, StandardCharsets.UTF_8);
    var err = new PrintWriter(System.err, true, StandardCharsets.UTF_8);
    System.exit(run(out, err, args));
  }

  static int run(PrintWriter out, PrintWriter err, String... args) {
    return Main.run(new KubectlMain(), out, err, args);
  }
}
