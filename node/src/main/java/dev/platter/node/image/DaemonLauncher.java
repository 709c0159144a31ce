package dev.platter.node.image;

import dev.platter.node.durable.Durable;
import dev.platter.plan.StateLayout;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.regex.Pattern;

/**
 * Starts the daemon in the background, under a few lines of shell that start it again if it is
 * killed: guests wait for it meanwhile. It ends by itself when nobody needs it.
 */
public final class DaemonLauncher {
  /**
   * Ended by choice, or by a polite signal: then it stays ended. Ten failures in a row are enough.
   */
  private static final String SUPERVISOR =
      """
      failures=0
      while [ $failures -lt 10 ]; do
        begun=$(date +%s)
        "$@" && exit 0
        [ $? -eq 143 ] && exit 0
        [ $(($(date +%s) - begun)) -gt 10 ] && failures=0
        failures=$((failures + 1))
        sleep 0.1
      done
      """;

  /**
   * What the daemon needs of the caller's environment: to find state, logins and settings, to get
   * to registries, and for credential helpers to find theirs.
   */
  private static final Pattern NEEDED =
      Pattern.compile(
          "HOME|PATH|LANG"
              + "|XDG_RUNTIME_DIR|XDG_STATE_HOME|XDG_CONFIG_HOME"
              + "|DOCKER_CONFIG|REGISTRY_AUTH_FILE|CONTAINERS_REGISTRIES_CONF"
              + "|HTTPS_PROXY|HTTP_PROXY|NO_PROXY|https_proxy|http_proxy|no_proxy"
              + "|AWS_[A-Z0-9_]+|GOOGLE_APPLICATION_CREDENTIALS");

  private static final Set<String> AWS_SESSION =
      Set.of("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN");

  private static final long LARGE_LOG = 1 << 20;

  private final StateLayout layout;
  private final List<String> command;

  /**
   * @param command what runs the daemon in the foreground
   */
  public DaemonLauncher(StateLayout layout, List<String> command) {
    this.layout = layout;
    this.command = List.copyOf(command);
  }

  /**
   * Leaves what the daemon needs. AWS's keys of a session are over within hours, and a helper that
   * has them looks for no others: the daemon is to find those that are renewed.
   */
  static void reduce(Map<String, String> environment) {
    environment.keySet().removeIf(name -> !NEEDED.matcher(name).matches());
    if (environment.containsKey("AWS_SESSION_TOKEN")) {
      environment.keySet().removeAll(AWS_SESSION);
    }
  }

  void start() throws IOException {
    Durable.makeDirectories(layout.state());
    var log = layout.daemonLog();
    if (Files.exists(log) && Files.size(log) > LARGE_LOG) {
      Files.delete(log);
    }
    var builder =
        new ProcessBuilder(line())
            .directory(Path.of("/").toFile())
            .redirectInput(Path.of("/dev/null").toFile())
            .redirectErrorStream(true)
            .redirectOutput(ProcessBuilder.Redirect.appendTo(log.toFile()));
    reduce(builder.environment());
    builder.start();
  }

  /** As long as the process runs: starts it when one of these directories has less room. */
  void startWhenShort(long process, List<Path> directories, long bytes) throws IOException {
    Durable.makeDirectories(layout.state());
    new RoomWatch(layout.daemonSocket(), layout.daemonLog(), line(), DaemonLauncher::reduce)
        .ensure(process, directories, bytes);
  }

  private List<String> line() {
    var line = new ArrayList<>(List.of("setsid", "sh", "-c", SUPERVISOR, "platterd"));
    line.addAll(command);
    return line;
  }
}
