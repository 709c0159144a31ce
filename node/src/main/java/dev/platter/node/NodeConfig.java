package dev.platter.node;

import dev.platter.plan.StateLayout;
import java.nio.file.Path;
import java.util.Map;
import java.util.Optional;

/**
 * @param layout where state lies
 * @param connect the libvirt to use; empty means Platter's own
 * @param registry the registry of references that name none
 */
public record NodeConfig(StateLayout layout, Optional<String> connect, Optional<String> registry) {

  /**
   * Root keeps state in the system's directories, everybody else in their own (the XDG base
   * directories).
   *
   * @param state overrides the state directory; sockets then lie below it too
   */
  public static StateLayout layout(Optional<Path> state, Map<String, String> environment) {
    if (state.isPresent()) {
      var root = state.get().toAbsolutePath().normalize();
      return new StateLayout(root, root.resolve("run"));
    }
    if ("0".equals(uid())) {
      return new StateLayout(Path.of("/var/lib/platter"), Path.of("/run/platter"));
    }
    var home = Path.of(environment.getOrDefault("HOME", "/"));
    var data = environment.get("XDG_STATE_HOME");
    var run = environment.get("XDG_RUNTIME_DIR");
    var stateHome = data == null || data.isEmpty() ? home.resolve(".local/state") : Path.of(data);
    var runHome =
        run == null || run.isEmpty() ? stateHome.resolve("platter").resolve("run") : Path.of(run);
    return new StateLayout(stateHome.resolve("platter"), runHome.resolve("platter"));
  }

  private static String uid() {
    try {
      return java.nio.file.Files.getAttribute(Path.of("/proc/self"), "unix:uid").toString();
    } catch (java.io.IOException e) {
      return "";
    }
  }
}
