package dev.platter.node.fill;

import static org.assertj.core.api.Assertions.assertThat;

import dev.platter.image.fill.Format;
import dev.platter.lab.Shell;
import dev.platter.model.PlatterException;
import dev.platter.node.NodeConfig;
import dev.platter.node.Progress;
import dev.platter.plan.FillRecord;
import dev.platter.plan.StateLayout;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Files made to harm who imports them, all imported by one process with little memory whose calls
 * of the kernel strace writes down: each is refused with a message, and nothing that it names is
 * opened, connected to or run.
 */
class HostileImportTest {
  /** Of the disk's volume: what would not fit is refused there. */
  private static final long SIZE = 256 << 20;

  /** What the limits in docs/filling.md add up to, and a JVM. */
  private static final long MOST_MEMORY = 512 << 20;

  private static final Duration LONGEST = Duration.ofSeconds(20);

  @TempDir static Path dir;
  private static String calls = "";
  private static final TreeMap<String, Outcome> OUTCOMES = new TreeMap<>();
  private static long peak;
  private static int connections;

  private record Outcome(long millis, String message) {}

  @BeforeAll
  static void importThemAll() throws IOException {
    var files = Files.createDirectory(dir.resolve("files"));
    var named = Files.writeString(dir.resolve("named-by-images"), "secret");
    try (var port = new ServerSocket(0, 50, InetAddress.getLoopbackAddress())) {
      HostileFiles.make(files, named, port.getLocalPort());
      var log = dir.resolve("strace");
      var out =
          Shell.shell()
              .within(Duration.ofMinutes(3))
              .check(
                  "strace",
                  "-f",
                  "--seccomp-bpf",
                  "-qq",
                  "-e",
                  "trace=open,openat,openat2,execve,connect",
                  "-o",
                  log,
                  Path.of(System.getProperty("java.home"), "bin", "java"),
                  "-XX:TieredStopAtLevel=1",
                  "-XX:+UseSerialGC",
                  "-Xmx160m",
                  "-XX:MaxDirectMemorySize=96m",
                  "--enable-native-access=ALL-UNNAMED",
                  "-cp",
                  System.getProperty("java.class.path"),
                  Imports.class.getName(),
                  dir)
              .out();
      out.lines().map(line -> line.split("\t", 3)).forEach(HostileImportTest::remember);
      calls = Files.readString(log);
      port.setSoTimeout(1);
      connections = accepted(port);
    }
  }

  private static int accepted(ServerSocket port) throws IOException {
    try (var _ = port.accept()) {
      return 1;
    } catch (java.net.SocketTimeoutException e) {
      return 0;
    }
  }

  private static void remember(String[] words) {
    if (words[0].equals("peak")) {
      peak = Long.parseLong(words[1]);
    } else {
      OUTCOMES.put(words[0], new Outcome(Long.parseLong(words[1]), words[2]));
    }
  }

  /** Imports each file of a directory, and tells how that went. */
  static final class Imports {
    private Imports() {}

    public static void main(String[] args) throws IOException {
      var dir = Path.of(args[0]);
      try (var files = Files.list(dir.resolve("files"))) {
        for (var file : files.sorted(Comparator.naturalOrder()).toList()) {
          var began = System.nanoTime();
          var message = imported(dir, file);
          System.out.printf(
              "%s\t%d\t%s%n", file.getFileName(), (System.nanoTime() - began) / 1_000_000, message);
        }
      }
      var status = Files.readString(Path.of("/proc/self/status"));
      var peak = status.replaceFirst("(?s).*VmHWM:\\s*(\\d+) kB.*", "$1");
      System.out.println("peak\t" + Long.parseLong(peak) * 1024);
    }

    private static String imported(Path dir, Path file) throws IOException {
      var volume = Files.createDirectories(dir.resolve("volumes").resolve(file.getFileName()));
      var layout = new StateLayout(dir.resolve("state"), dir.resolve("run"));
      var config = new NodeConfig(layout, Optional.empty(), Optional.empty());
      @Nullable Format guessed = null;
      try {
        new DiskImport(file.toString(), volume, Optional.empty(), guessed, SIZE, false)
            .run(config, Progress.NONE);
        return "taken";
      } catch (PlatterException e) {
        return e.code() + " " + String.valueOf(e.getMessage()).replace('\n', ' ');
      } catch (RuntimeException | Error e) {
        return "failed: " + e;
      }
    }
  }

  @Test
  void eachIsRefusedWithAMessageInBoundedTimeAndMemory() {
    var slowest = OUTCOMES.values().stream().mapToLong(Outcome::millis).max().orElseThrow();
    System.out.printf("%d files, peak %d MiB, %d ms%n", OUTCOMES.size(), peak >> 20, slowest);
    assertThat(OUTCOMES.keySet()).hasSizeGreaterThan(40);
    assertThat(OUTCOMES)
        .allSatisfy(
            (name, outcome) -> {
              assertThat(outcome.message()).as(name).matches("(REFUSED|INVALID) .*(refused|fit).*");
              assertThat(Duration.ofMillis(outcome.millis())).as(name).isLessThan(LONGEST);
              assertThat(isComplete(name)).as(name).isFalse();
            });
    assertThat(peak).isBetween(1L, MOST_MEMORY);
  }

  private static boolean isComplete(String name) {
    var record = dir.resolve("volumes").resolve(name).resolve("disk.img.json");
    try {
      return FillRecord.parse(Files.readString(record)).orElseThrow().complete();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  @Test
  void nothingThatAnImageNamesIsOpenedOrAskedOrRun() {
    var opened = calls.lines().filter(line -> line.contains("/files/")).toList();
    assertThat(opened).as("strace sees what is opened").hasSizeGreaterThan(40);
    assertThat(calls).doesNotContain("named-by-images").doesNotContain("self/environ");
    assertThat(connections).isZero();
    assertThat(calls.lines().filter(line -> line.contains("AF_INET"))).isEmpty();
    assertThat(calls.lines().filter(line -> line.contains("execve("))).hasSize(1);
    assertThat(List.of("qemu-img", "json:")).noneMatch(calls::contains);
  }
}
