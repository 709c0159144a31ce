package dev.platter.node;

import dev.platter.model.PlatterException;
import dev.platter.plan.StateLayout;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;

/**
 * @param layout where state lies
 * @param connect the libvirt to use; empty means Platter's own
 * @param registry the registry of references that name none
 */
public record NodeConfig(StateLayout layout, Optional<String> connect, Optional<String> registry) {
  /** What the kernel takes as the path of a socket. */
  private static final int LONGEST_SOCKET = 107;

  /**
   * Root keeps state in the system's directories, everybody else in their own. Only the former has
   * a run directory of its own: which one a user's session has depends on how they logged in, and
   * two commands must find the same.
   *
   * @param state overrides the state directory
   */
  public static StateLayout layout(Optional<Path> state, Map<String, String> environment) {
    if (state.isEmpty() && uid().equals("0")) {
      return new StateLayout(Path.of("/var/lib/platter"), Path.of("/run/platter"));
    }
    var root = state.orElseGet(() -> userState(environment)).toAbsolutePath().normalize();
    return checked(new StateLayout(root, root.resolve("run")));
  }

  private static Path userState(Map<String, String> environment) {
    var given = environment.get("XDG_STATE_HOME");
    return given == null || given.isEmpty()
        ? Path.of(environment.getOrDefault("HOME", "/"), ".local", "state", "platter")
        : Path.of(given, "platter");
  }

  /** A path that is too long for the console's socket would only be found out by QEMU. */
  private static StateLayout checked(StateLayout layout) {
    var socket = layout.consoleSocket(new UUID(0, 0)).toString();
    var over = socket.getBytes(StandardCharsets.UTF_8).length - LONGEST_SOCKET;
    if (over > 0) {
      throw PlatterException.of(
          PlatterException.Code.INVALID,
          "the state directory's path is "
              + over
              + " bytes too long for sockets in it: "
              + layout.state(),
          "Choose a shorter one with --state.");
    }
    return layout;
  }

  private static String uid() {
    try {
      return java.nio.file.Files.getAttribute(Path.of("/proc/self"), "unix:uid").toString();
    } catch (java.io.IOException e) {
      return "";
    }
  }
}
