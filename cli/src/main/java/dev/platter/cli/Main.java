package dev.platter.cli;

import dev.platter.model.PlatterException;
import java.io.PrintWriter;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.Map;
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
      "8:valid, but this version does not do it",
      "9:given up, since it took longer than it may"
    })
public final class Main {
  /** In the order of the help. A test holds that each is called what its class says. */
  static final Map<String, Class<?>> COMMANDS = new LinkedHashMap<>();

  static {
    COMMANDS.put("demo", DemoCommand.class);
    COMMANDS.put("run", RunCommand.class);
    COMMANDS.put("plan", PlanCommand.class);
    COMMANDS.put("ps", PsCommand.class);
    COMMANDS.put("start", StartCommand.class);
    COMMANDS.put("stop", StopCommand.class);
    COMMANDS.put("rm", RmCommand.class);
    COMMANDS.put("migrate", MigrateCommand.class);
    COMMANDS.put("logs", LogsCommand.class);
    COMMANDS.put("console", ConsoleCommand.class);
    COMMANDS.put("inspect", InspectCommand.class);
    COMMANDS.put("disk", DiskCommand.class);
    COMMANDS.put("identity", IdentityCommand.class);
    COMMANDS.put("images", ImagesCommand.class);
    COMMANDS.put("pools", PoolsCommand.class);
    COMMANDS.put("pull", PullCommand.class);
    COMMANDS.put("push", PushCommand.class);
    COMMANDS.put("import", ImportCommand.class);
    COMMANDS.put("upload", UploadCommand.class);
    COMMANDS.put("upload-server", UploadServerCommand.class);
    COMMANDS.put("fill", FillCommand.class);
    COMMANDS.put("upload-gate", UploadGateCommand.class);
    COMMANDS.put("build", BuildCommand.class);
    COMMANDS.put("serve", ServeCommand.class);
    COMMANDS.put("trace", TraceCommand.class);
    COMMANDS.put("gc", GcCommand.class);
    COMMANDS.put("node", DaemonCommand.class);
    COMMANDS.put("install", InstallCommand.class);
    COMMANDS.put("uninstall", UninstallCommand.class);
    COMMANDS.put("controller", ControllerCommand.class);
    COMMANDS.put("csi", CsiCommand.class);
    COMMANDS.put("doctor", DoctorCommand.class);
    COMMANDS.put("completion", CompletionCommand.class);
    COMMANDS.put("version", VersionCommand.class);
  }

  private Main() {}

  public static void main(String[] args) {
    Preparation.begin(args);
    var out = new PrintWriter(System.out, true, StandardCharsets.UTF_8);
    var err = new PrintWriter(System.err, true, StandardCharsets.UTF_8);
    System.exit(run(out, err, args));
  }

  /** Runs one command line and returns its exit status. */
  static int run(PrintWriter out, PrintWriter err, String... args) {
    return run(commandLine(args), out, err, args);
  }

  static int run(Object program, PrintWriter out, PrintWriter err, String... args) {
    return run(new CommandLine(program), out, err, args);
  }

  /**
   * All commands, or the one that is named: to build the others takes longer than most commands do.
   */
  static CommandLine commandLine(String... args) {
    var program = new CommandLine(new Main());
    var named = args.length == 0 ? null : COMMANDS.get(args[0]);
    if (named == null || named == CompletionCommand.class) { // That one tells of all others.
      COMMANDS.forEach(program::addSubcommand);
    } else {
      program.addSubcommand(args[0], named);
    }
    return program;
  }

  private static int run(CommandLine program, PrintWriter out, PrintWriter err, String... args) {
    return program
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
