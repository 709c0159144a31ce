package dev.platter.registry;

import dev.platter.registry.Credentials.Login;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * The files in which podman, skopeo and Docker keep the logins of one user, in the order of {@code
 * containers-auth.json(5)}. The first that knows a registry counts. What {@code DOCKER_CONFIG}
 * names comes before podman's own file, as it does for {@code podman login}.
 *
 * <p>They are read whenever somebody asks, which is when a registry wants a login: a daemon that
 * has begun before {@code docker login} knows the login then.
 *
 * @param programs where credential helpers are, a list of directories
 */
record LoginFiles(List<Path> files, @Nullable String programs) implements Credentials.Source {
  private static final String PODMAN = "containers/auth.json";
  private static final String DOCKER = "config.json";

  LoginFiles {
    files = List.copyOf(files);
  }

  static LoginFiles of(Map<String, String> environment) {
    String home = environment.getOrDefault("HOME", "");
    List<Path> files = new ArrayList<>();
    addFirst(
        files,
        at(environment, "REGISTRY_AUTH_FILE", ""),
        at(environment, "DOCKER_CONFIG", DOCKER),
        at(environment, "XDG_RUNTIME_DIR", PODMAN),
        runtime());
    addFirst(
        files,
        at(environment, "XDG_CONFIG_HOME", PODMAN),
        home.isEmpty() ? null : Path.of(home, ".config", PODMAN));
    addFirst(
        files,
        at(environment, "DOCKER_CONFIG", DOCKER),
        home.isEmpty() ? null : Path.of(home, ".docker", DOCKER));
    return new LoginFiles(files.stream().distinct().toList(), environment.get("PATH"));
  }

  /** The first of these places that there is a name for: each stands for those behind it. */
  private static void addFirst(List<Path> files, @Nullable Path... places) {
    for (Path place : places) {
      if (place != null) {
        files.add(place);
        return;
      }
    }
  }

  private static @Nullable Path at(
      Map<String, String> environment, String variable, String relative) {
    String base = environment.getOrDefault(variable, "");
    return base.isEmpty() ? null : Path.of(base, relative);
  }

  /** Where podman keeps logins of a user without a session. */
  private static @Nullable Path runtime() {
    try {
      Object user = Files.getAttribute(Path.of("/proc/self"), "unix:uid");
      return Path.of("/run/containers", user.toString(), "auth.json");
    } catch (IOException | UnsupportedOperationException e) {
      return null; // No Linux, and so no such file.
    }
  }

  @Override
  public Optional<Login> find(Reference image) throws IOException {
    for (Path file : files) {
      if (Files.isRegularFile(file)) {
        Optional<Login> found = LoginDocument.read(file, programs).find(image);
        if (found.isPresent()) {
          return found;
        }
      }
    }
    return Optional.empty();
  }

  @Override
  public String toString() {
    return files.toString();
  }
}
