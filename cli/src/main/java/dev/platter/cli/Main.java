package dev.platter.cli;

import dev.platter.model.PlatterException;
import java.io.PrintWriter;
import java.nio.charset.StandardCharsets;
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
    scope = CommandLine.ScopeType.INHERIT,
    versionProvider = VersionCommand.class,
    synopsisSubcommandLabel = "COMMAND",
    exitCodeListHeading = "%nExit status:%n",
    exitCodeList = {
      "0:done",
      "1:a bug, or an unexpected failure of the machine",
      "2:the command line was not understood",
      "3:what a file says is not valid",
      "4:no such VM, identity, image or file",
      "5:in use, exists already, or cancelled",
      "6:this machine or a server lacks something that is needed",
      "7:an image was refused",
      "8:valid, but this version does not do it"
    },
    subcommands = {
      DemoCommand.class,
      RunCommand.class,
      PlanCommand.class,
      PsCommand.class,
      StartCommand.class,
      StopCommand.class,
      RmCommand.class,
      MigrateCommand.class,
      LogsCommand.class,
      ConsoleCommand.class,
      InspectCommand.class,
      DiskCommand.class,
      IdentityCommand.class,
      ImagesCommand.class,
      PoolsCommand.class,
      PullCommand.class,
      PushCommand.class,
      ImportCommand.class,
      UploadCommand.class,
      UploadServerCommand.class,
      FillCommand.class,
      UploadGateCommand.class,
      BuildCommand.class,
      ServeCommand.class,
      TraceCommand.class,
      GcCommand.class,
      DaemonCommand.class,
      InstallCommand.class,
      UninstallCommand.class,
      ControllerCommand.class,
      CsiCommand.class,
      DoctorCommand.class,
      CompletionCommand.class,
      VersionCommand.class
    })
public final class Main {
  private Main() {}

  public static void main(String[] args) {
    var out = new PrintWriter(System.out, true, StandardCharsets.UTF_8);
    var err = new PrintWriter(System.err, true, StandardCharsets.UTF_8);
    System.exit(run(out, err, args));
  }

  /** Runs one command line and returns its exit status. */
  static int run(PrintWriter out, PrintWriter err, String... args) {
    return run(new Main(), out, err, args);
  }

  static int run(Object program, PrintWriter out, PrintWriter err, String... args) {
    return new CommandLine(program)
        .setOut(out)
        .setErr(err)
        .setCaseInsensitiveEnumValuesAllowed(true)
        .setExecutionExceptionHandler((e, command, _) -> failed(e, command.getErr()))
        .execute(args);
  }

  /** The one place where a failure becomes words and an exit status. */
  private static int failed(Exception e, PrintWriter err) {
    if (e instanceof PlatterException known) {
      known.details().forEach(err::println);
      err.println("platter: " + known.getMessage());
      if (!known.next().isEmpty()) {
        err.println("  " + known.next());
      }
      return known.code().exitStatus();
    }
    if (e instanceof IllegalArgumentException) {
      err.println("platter: " + e.getMessage());
      return PlatterException.Code.INVALID.exitStatus();
    }
    err.println("platter: unexpected: " + e);
    e.printStackTrace(err);
    return PlatterException.Code.INTERNAL.exitStatus();
  }
}
