package dev.platter.node.container;

import com.fasterxml.jackson.databind.ObjectMapper;
import dev.platter.model.PlatterException;
import dev.platter.model.PlatterException.Code;
import dev.platter.node.durable.Durable;
import dev.platter.node.program.Programs;
import dev.platter.registry.Reference;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * Containers of this machine's containerd, in a namespace of our own, through its command {@code
 * ctr}. Containers that do not carry the VM's label are not touched, and those of other state
 * directories have other names.
 *
 * <p>Every method can be repeated. A ctr that outlives a killed Platter goes on with what it was
 * doing; so each change runs under {@code flock}, whose lock ctr inherits: what undoes it waits for
 * the end of it, and once the lock's directory is gone nothing can start.
 *
 * <p>Left out: limits of memory and processor, private registries (pull such an image with ctr
 * beforehand), podman.
 */
public final class ContainerRuntime {
  public static final Path DEFAULT_SOCKET = Path.of("/run/containerd/containerd.sock");

  /** The namespace in containerd: its images and containers are apart from Kubernetes' own. */
  public static final String NAMESPACE = "platter";

  /** Where the container finds {@code tls.key}, {@code tls.crt} and {@code ca.crt}. */
  static final String TLS = "/run/platter/tls";

  private static final String VM_LABEL = "dev.platter.vm";
  private static final String DISK_LABEL = "dev.platter.disk";
  private static final Duration LIMIT = Duration.ofMinutes(1);
  private static final int LOOKS = 5;
  private static final Duration BETWEEN_LOOKS = Duration.ofMillis(100);
  private static final Duration PULL_LIMIT = Duration.ofMinutes(10);
  private static final ObjectMapper JSON = new ObjectMapper();

  enum State {
    ABSENT,
    /** There is one of this name that is not ours. */
    FOREIGN,
    /** Created and not started, or what it ran has ended. */
    ENDED,
    RUNNING
  }

  private static final Programs PROGRAMS =
      new Programs(
          "A disk with a container as its source needs containerd, with ctr, and util-linux.",
          "Look at the log of containerd, and try again.");

  private final Path socket;

  public ContainerRuntime(Path socket) {
    this.socket = socket;
  }

  /** Pulls the image unless containerd has it; ctr speaks plain HTTP to a loopback registry. */
  void ensureImage(String image) throws IOException {
    if (!check("images", "list", "-q", "name==" + image).isBlank()) {
      return;
    }
    var words = new ArrayList<>(List.of("images", "pull"));
    if (Reference.parse(image).isLoopback()) {
      words.add("--plain-http");
    }
    words.add(image);
    var result = PROGRAMS.run("ctr images pull", ctr(words), PULL_LIMIT);
    if (result.status() != 0) {
      throw PlatterException.of(
          Code.UNAVAILABLE,
          "the container's image " + image + " cannot be pulled: " + result.complaint(),
          "Check its name, or put it there by hand: ctr -n " + NAMESPACE + " images pull " + image);
    }
  }

  /** Creates the container if it is not there; its image must be. */
  void create(VolumeName name, VolumeContainer container, ServiceAddress address, VolumeFiles files)
      throws IOException {
    switch (state(name, address, files)) {
      case ABSENT -> {
        Files.deleteIfExists(files.environment());
        Durable.write(files.environment(), environment(container, address));
        change(files, creation(name, container, address, files));
      }
      case FOREIGN ->
          throw PlatterException.of(
              Code.CONFLICT,
              "the container " + address.container() + " exists, and is not that of " + name,
              "Platter does not touch what it did not make. Look at it with: ctr -n "
                  + NAMESPACE
                  + " containers info "
                  + address.container());
      case ENDED, RUNNING -> {}
    }
    Files.deleteIfExists(files.environment());
    handOver(address, files);
  }

  private static List<String> creation(
      VolumeName name, VolumeContainer container, ServiceAddress address, VolumeFiles files) {
    var words = new ArrayList<>(List.of("containers", "create", "--net-host", "--seccomp"));
    words.addAll(List.of("--label", VM_LABEL + "=" + name.vm()));
    words.addAll(List.of("--label", DISK_LABEL + "=" + name.disk()));
    words.addAll(List.of("--env-file", files.environment().toString()));
    if (container.scheme() == VolumeContainer.Scheme.HTTPS) {
      words.add("--mount");
      // ctr reads it as a line of CSV: a path may have a comma in it.
      var from = "\"src=" + files.tls().toString().replace("\"", "\"\"") + "\"";
      words.add("type=bind," + from + ",dst=" + TLS + ",options=rbind:ro");
    }
    var directory = container.directory();
    if (directory != null) {
      words.addAll(List.of("--cwd", directory));
    }
    words.addAll(List.of("--", container.image(), address.container()));
    words.addAll(container.command());
    words.addAll(container.args());
    return words;
  }

  private static byte[] environment(VolumeContainer container, ServiceAddress address) {
    Map<String, String> variables = new LinkedHashMap<>(container.env());
    variables.put("PORT", Integer.toString(address.port()));
    variables.put("PLATTER_LISTEN", ServiceAddress.HOST);
    variables.put("PLATTER_VOLUME", address.container());
    if (container.scheme() == VolumeContainer.Scheme.HTTPS) {
      variables.put("PLATTER_TLS", TLS);
    }
    var lines = new StringBuilder();
    variables.forEach((key, value) -> lines.append(key).append('=').append(value).append('\n'));
    return lines.toString().getBytes(StandardCharsets.UTF_8);
  }

  /** Only the user that the image runs as can read the key; which one, containerd knows now. */
  private void handOver(ServiceAddress address, VolumeFiles files) throws IOException {
    if (!Files.exists(files.tls())) {
      return;
    }
    var info = JSON.readTree(check("containers", "info", address.container()));
    var user = info.path("Spec").path("process").path("user").path("uid").asInt();
    for (var path : List.of(files.key(), files.certificate(), files.ca(), files.tls())) {
      Files.setAttribute(path, "unix:uid", user);
    }
  }

  /** Starts what the container runs, for the first time or again. */
  void start(ServiceAddress address, VolumeFiles files) throws IOException {
    var word = address.container();
    switch (taskStatus(word).orElse("NONE")) {
      case "RUNNING" -> {
        return;
      }
      case "NONE" -> {}
      default -> change(files, List.of("tasks", "delete", "-f", word));
    }
    change(
        files, List.of("tasks", "start", "-d", "--log-uri", files.log().toUri().toString(), word));
  }

  /**
   * What a container said just before it ended is on its way to the log for a moment, and all there
   * when its task is deleted. One that lives is left alone.
   */
  void settle(VolumeName name, ServiceAddress address, VolumeFiles files) throws IOException {
    for (var i = 0; i < LOOKS; i++) {
      if (state(name, address, files) == State.ENDED) {
        if (taskStatus(address.container()).isPresent()) {
          change(files, List.of("tasks", "delete", "-f", address.container()));
        }
        return;
      }
      try {
        Thread.sleep(BETWEEN_LOOKS);
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
        return;
      }
    }
  }

  /** Removes the container, whatever its state, with all that belongs to it. */
  void remove(VolumeName name, ServiceAddress address, VolumeFiles files) throws IOException {
    var word = address.container();
    switch (state(name, address, files)) {
      case FOREIGN -> {}
      case ABSENT -> {
        // A crash of the machine can leave the snapshot that a container was to be made of.
        if (rows(check("snapshots", "list")).containsKey(word)) {
          change(files, List.of("snapshots", "delete", word));
        }
      }
      case ENDED, RUNNING -> {
        if (taskStatus(word).isPresent()) {
          change(files, List.of("tasks", "delete", "-f", word));
        }
        change(files, List.of("containers", "delete", word));
      }
    }
  }

  /** Waits for whoever was changing it when Platter was killed. */
  State state(VolumeName name, ServiceAddress address, VolumeFiles files) throws IOException {
    var words = List.of("containers", "info", address.container());
    var info = run(words, locked(files, words));
    if (info.status() != 0) {
      if (info.complaint().endsWith(": not found")) {
        return State.ABSENT;
      }
      throw failed(words, info);
    }
    var labels = JSON.readTree(info.output()).path("Labels");
    if (!labels.path(VM_LABEL).asText().equals(name.vm().toString())) {
      return State.FOREIGN;
    }
    return taskStatus(address.container()).filter("RUNNING"::equals).isPresent()
        ? State.RUNNING
        : State.ENDED;
  }

  private Optional<String> taskStatus(String word) throws IOException {
    return Optional.ofNullable(rows(check("tasks", "list")).get(word));
  }

  /** A table's rows: first word to last word. */
  private static Map<String, String> rows(String table) {
    var out = new LinkedHashMap<String, String>();
    for (var line : table.lines().skip(1).toList()) {
      var words = line.strip().split("\\s+", -1);
      out.put(words[0], words[words.length - 1]);
    }
    return out;
  }

  private String check(String... given) throws IOException {
    var words = List.of(given);
    return succeeded(words, run(words, ctr(words)).whole(what(words)));
  }

  private void change(VolumeFiles files, List<String> words) throws IOException {
    succeeded(words, run(words, locked(files, words)));
  }

  private List<String> locked(VolumeFiles files, List<String> words) {
    var patience = Long.toString(LIMIT.toSeconds());
    var command = new ArrayList<>(List.of("flock", "--wait", patience, files.lock().toString()));
    command.addAll(ctr(words));
    return command;
  }

  private Programs.Result run(List<String> words, List<String> command) throws IOException {
    if (!Files.exists(socket)) {
      throw PlatterException.of(
          Code.UNAVAILABLE,
          "containerd is not running: there is no socket " + socket,
          "A disk with a container as its source needs containerd; install and start it.");
    }
    return PROGRAMS.run(what(words), command, LIMIT.plusSeconds(5));
  }

  private String succeeded(List<String> words, Programs.Result result) {
    if (result.status() != 0) {
      throw failed(words, result);
    }
    return result.output();
  }

  private PlatterException failed(List<String> words, Programs.Result result) {
    return PlatterException.of(
        Code.UNAVAILABLE,
        "containerd at " + socket + ", " + what(words) + ": " + result.complaint(),
        "Check that containerd runs and that you may use it: ctr -a " + socket + " version");
  }

  private static String what(List<String> words) {
    return "ctr " + words.get(0) + " " + words.get(1);
  }

  private List<String> ctr(List<String> words) {
    var command = new ArrayList<String>();
    command.addAll(List.of("ctr", "--address", socket.toString()));
    command.addAll(List.of("--connect-timeout", "5s", "--namespace", NAMESPACE));
    command.addAll(words);
    return command;
  }
}
