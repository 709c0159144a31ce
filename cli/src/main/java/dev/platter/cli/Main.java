package dev.platter.cli;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.PrintWriter;
import picocli.CommandLine;
import picocli.CommandLine.Command;

/**
 * The command {@code platter}. Each subcommand is one class of this package.
 *
 * <p>Start-up time is a promise: loading a command's class must not load what only its execution
 * needs.
 */
@Command(
    name = "platter",
    description = "VM disks in milliseconds: from a registry, a claim, a network target or a pool.",
    mixinStandardHelpOptions = true,
    versionProvider = VersionCommand.class,
    synopsisSubcommandLabel = "COMMAND",
    subcommands = {VersionCommand.class, CompletionCommand.class})
public final class Main {
  private Main() {}

  public static void main(String[] args) {
    PrintWriter out = new PrintWriter(System.out, true, UTF_8);
    PrintWriter err = new PrintWriter(System.err, true, UTF_8);
    System.exit(run(out, err, args));
  }

  /** Runs one command line and returns its exit status: 0, or 2 where it was not understood. */
  static int run(PrintWriter out, PrintWriter err, String... args) {
    return new CommandLine(new Main()).setOut(out).setErr(err).execute(args);
  }
}
