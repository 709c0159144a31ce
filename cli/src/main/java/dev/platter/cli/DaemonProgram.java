package dev.platter.cli;

import dev.platter.node.program.Arguments;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/** How this very program is started once more, as the daemon. */
final class DaemonProgram {
  private static final String IDLE_SECONDS = "30";

  /**
   * What was called often in the training is not what a daemon does all day: profiles from there
   * keep the compiler from making better ones, which costs a guest's first block a quarter more of
   * a processor. The flag may be unknown to another JDK.
   */
  private static final List<String> OWN_PROFILES =
      List.of(
          "-XX:+IgnoreUnrecognizedVMOptions",
          "-XX:+UnlockDiagnosticVMOptions",
          "-XX:-AOTReplayTraining");

  private DaemonProgram() {}

  /**
   * @param state the state directory, if it is not the usual one: where sockets lie depends on that
   */
  static List<String> command(
      Optional<Path> state,
      Optional<String> connect,
      Optional<String> registry,
      Optional<Path> config) {
    var command = new ArrayList<>(jvm());
    command.addAll(List.of(Main.class.getName(), "node", "--idle", IDLE_SECONDS));
    state.ifPresent(directory -> command.addAll(List.of("--state", directory.toString())));
    connect.ifPresent(uri -> command.addAll(List.of("--connect", uri)));
    config.ifPresent(file -> command.addAll(List.of("--config", file.toString())));
    registry.ifPresent(host -> command.addAll(List.of("--registry", host)));
    return command;
  }

  /**
   * The JVM with the options it has now, except that the daemon lives long enough to be compiled
   * well.
   */
  private static List<String> jvm() {
    var java = Path.of(System.getProperty("java.home"), "bin", "java").toString();
    var arguments = Arguments.own();
    var main = arguments.indexOf(Main.class.getName());
    var out = new ArrayList<String>();
    out.add(java);
    if (main < 0) {
      // Inside another program, as in tests.
      out.addAll(
          List.of(
              "--enable-native-access=ALL-UNNAMED", "-cp", System.getProperty("java.class.path")));
      return out;
    }
    arguments.subList(1, main).stream()
        .filter(argument -> !argument.startsWith("-XX:TieredStopAtLevel"))
        .forEach(out::add);
    out.addAll(1, OWN_PROFILES);
    return out;
  }
}
