package dev.platter.lab;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Comparator;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * A containerd of our own: its directories and sockets are temporary, it knows no other plugins
 * than those that pull, unpack and run, and it ends with the test, as do its containers. Needs
 * root, as unpacking there does.
 */
public final class Containerd implements AutoCloseable {
  private static final Duration START = Duration.ofSeconds(20);
  private static final List<String> UNUSED =
      List.of(
          "grpc.v1.cri",
          "internal.v1.opt",
          "internal.v1.restart",
          "snapshotter.v1.aufs",
          "snapshotter.v1.btrfs",
          "snapshotter.v1.devmapper",
          "snapshotter.v1.zfs");

  /** Instead of mounting it is enough to know what would be: it is a plain directory. */
  private static final Pattern MOUNT = Pattern.compile("mount -t bind (\\S+) ");

  private final Path directory;
  private final Process process;

  private Containerd(Path directory, Process process) {
    this.directory = directory;
    this.process = process;
  }

  public static Containerd start() {
    try {
      Path directory = Files.createTempDirectory("containerd");
      Path config = Files.writeString(directory.resolve("config.toml"), config(directory));
      Path log = directory.resolve("log");
      Process process =
          new ProcessBuilder("containerd", "--config", config.toString())
              .redirectErrorStream(true)
              .redirectOutput(log.toFile())
              .start();
      var containerd = new Containerd(directory, process);
      try {
        Console.at(log, process::isAlive).await("successfully booted", START);
        return containerd;
      } catch (AssertionError e) {
        containerd.close();
        throw e;
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static String config(Path directory) {
    List<String> disabled = UNUSED.stream().map(name -> "\"io.containerd." + name + "\"").toList();
    return """
    version = 2
    root = "%1$s/root"
    state = "%1$s/state"
    disabled_plugins = %2$s
    [grpc]
    address = "%1$s/socket"
    [ttrpc]
    address = "%1$s/ttrpc"
    # A view is nobody's: the collector would take it away while it is looked at.
    [plugins."io.containerd.gc.v1.scheduler"]
    schedule_delay = "1h"
    startup_delay = "1h"
    """
        .formatted(directory, disabled);
  }

  /** Pulls an image of one layer from a registry without TLS; returns the unpacked directory. */
  public Path pull(String image, String platform) {
    ctr("images", "pull", "--plain-http", "--snapshotter=native", "--platform=" + platform, image);
    String before = ctr("snapshots", "--snapshotter=native", "list");
    String layer = before.lines().skip(1).reduce("", (_, last) -> last).split("\\s+", -1)[0];
    String view = "view-of-" + layer;
    ctr("snapshots", "--snapshotter=native", "view", view, layer);
    String mount = ctr("snapshots", "--snapshotter=native", "mounts", "/nowhere", view);
    Matcher matcher = MOUNT.matcher(mount);
    if (!matcher.find()) {
      throw new AssertionError("unexpected mount: " + mount);
    }
    return Path.of(matcher.group(1));
  }

  /** Where it listens. */
  public Path socket() {
    return directory.resolve("socket");
  }

  /** Output of ctr, whose command must succeed. */
  public String ctr(String... words) {
    Object[] command =
        Stream.concat(Stream.of("ctr", "--address", socket().toString()), Stream.of(words))
            .toArray();
    return Shell.run(command);
  }

  /** What runs is not containerd's child and would outlive it, with its mounts. */
  private void endContainers() {
    for (String namespace : ctr("namespaces", "list", "-q").lines().toList()) {
      for (String task : ctr("-n", namespace, "tasks", "list", "-q").lines().toList()) {
        ctr("-n", namespace, "tasks", "delete", "-f", task);
      }
    }
  }

  @Override
  public void close() {
    if (process.isAlive()) {
      endContainers();
    }
    process.destroy();
    try {
      process.waitFor();
      try (Stream<Path> files = Files.walk(directory)) {
        for (Path file : files.sorted(Comparator.reverseOrder()).toList()) {
          Files.delete(file);
        }
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}
