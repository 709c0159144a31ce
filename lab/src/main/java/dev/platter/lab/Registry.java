package dev.platter.lab;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * The reference registry ({@code docker-registry}) on a free port, by default of the loopback
 * interface, plain HTTP, empty at first. As a field of a test class: {@code @AutoClose static final
 * Registry registry = Registry.start();}
 */
public final class Registry implements AutoCloseable {
  private static final Duration START = Duration.ofSeconds(20);
  private static final Pattern LISTENING = Pattern.compile("listening on ([0-9.]+:\\d+)");
  private static final Pattern ACCESS =
      Pattern.compile(
          "\\[[^]]+] \"(?<method>[A-Z]+) (?<path>\\S+) \\S+\" (?<status>\\d+) (?<bytes>\\d+)");

  private final Path directory;
  private final Console log;
  private final String address;
  private Process process;

  private Registry(Path directory, Process process, Console log, String address) {
    this.directory = directory;
    this.process = process;
    this.log = log;
    this.address = address;
  }

  /**
   * One request that the registry has answered. {@code bytes} is the length of the answer's body.
   */
  public record Request(String method, String path, int status, long bytes) {}

  public static Registry start() {
    return start(Loopback.HOST);
  }

  /** At another address of this machine, such as the one that a cluster's nodes reach. */
  public static Registry start(String host) {
    return start(host, Map.of());
  }

  /**
   * @param logins passwords by user, if nobody else is to read or write
   */
  public static Registry start(String host, Map<String, String> logins) {
    try {
      Path directory = Files.createTempDirectory("registry");
      allow(directory, logins);
      Process process = run(directory, host + ":0");
      Console log = Console.at(directory.resolve("log"), process::isAlive);
      try {
        // The kernel chooses the port, so no other process can take it first.
        Matcher line = LISTENING.matcher(log.await(LISTENING.pattern(), START));
        if (!line.find()) {
          throw new AssertionError("unreadable log: " + log.lines());
        }
        return new Registry(directory, process, log, line.group(1));
      } catch (AssertionError e) {
        new Registry(directory, process, log, "").close();
        throw e;
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static void allow(Path directory, Map<String, String> logins) throws IOException {
    List<String> lines = new ArrayList<>();
    // bcrypt is all that it takes, and perl's crypt(3) makes it.
    logins.forEach(
        (user, password) ->
            lines.add(
                user
                    + ":"
                    + Shell.run(
                        "perl",
                        "-e",
                        "print crypt($ARGV[0], '$2b$05$' . 'labs' x 5 . '.e')",
                        password)));
    if (!lines.isEmpty()) {
      Files.write(directory.resolve("htpasswd"), lines);
    }
  }

  private static Process run(Path directory, String address) throws IOException {
    Path config = Files.writeString(directory.resolve("config.yml"), config(directory, address));
    return new ProcessBuilder("docker-registry", "serve", config.toString())
        .redirectErrorStream(true)
        .redirectOutput(ProcessBuilder.Redirect.appendTo(directory.resolve("log").toFile()))
        .start();
  }

  /** Lets in these and nobody else from now on, if it was started with logins. */
  public void allow(Map<String, String> logins) {
    try {
      allow(directory, logins);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Ends it; what was pushed stays. Its address answers to nobody until {@link #goOn}. */
  public void goAway() {
    process.destroyForcibly();
    try {
      process.waitFor();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  /** Starts it again at the same address. */
  public void goOn() {
    try {
      process = run(directory, address);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static String config(Path directory, String address) {
    Path logins = directory.resolve("htpasswd");
    String auth =
        Files.exists(logins) ? "auth: {htpasswd: {realm: lab, path: \"" + logins + "\"}}\n" : "";
    return auth
        + """
    version: 0.1
    log: {level: info, accesslog: {disabled: false}}
    storage:
      filesystem: {rootdirectory: "%s"}
      delete: {enabled: true}
    http: {addr: "%s", secret: lab}
    """
            .formatted(directory.resolve("data"), address);
  }

  /** Host and port. */
  public String address() {
    return address;
  }

  /** What was asked of it so far, in order. */
  public List<Request> requests() {
    return log.lines().stream().map(Registry::request).flatMap(Optional::stream).toList();
  }

  private static Optional<Request> request(String line) {
    Matcher access = ACCESS.matcher(line);
    if (!access.find()) {
      return Optional.empty();
    }
    return Optional.of(
        new Request(
            access.group("method"),
            access.group("path"),
            Integer.parseInt(access.group("status")),
            Long.parseLong(access.group("bytes"))));
  }

  /** Ends it and forgets what was pushed. */
  @Override
  public void close() {
    goAway();
    try {
      try (Stream<Path> files = Files.walk(directory)) {
        for (Path file : files.sorted(Comparator.reverseOrder()).toList()) {
          Files.delete(file);
        }
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
