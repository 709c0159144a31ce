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
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Comparator;
import java.util.Optional;
import java.util.TreeMap;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Archives made to harm who unpacks them, by one process with little memory, which is root, as in a
 * pod without any right of root. strace writes its calls down.
 */
class HostileArchiveTest {
  private static final long SIZE = 4 << 20;
  private static final long MOST_MEMORY = 400 << 20;

  @TempDir static Path dir;
  private static Path outside = Path.of("");
  private static String before = "";
  private static String calls = "";
  private static final TreeMap<String, String> OUTCOMES = new TreeMap<>();

  @BeforeAll
  static void unpackThemAll() throws IOException {
    outside = Files.createDirectory(dir.resolve("outside"));
    Files.writeString(outside.resolve("secret"), "secret");
    var archives = Files.createDirectory(dir.resolve("archives"));
    HostileArchives.make(archives, outside);
    before = state();
    var log = dir.resolve("strace");
    Shell.shell()
        .within(Duration.ofMinutes(5))
        .check(
            "setpriv",
            "--bounding-set=-all",
            "--inh-caps=-all",
            "strace",
            "-f",
            "--seccomp-bpf",
            "-qq",
            "-s",
            "300",
            "-e",
            "trace=%file,execve",
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
            Unpacks.class.getName(),
            dir)
        .out()
        .lines()
        .map(line -> line.split("\t", 2))
        .forEach(words -> OUTCOMES.put(words[0], words[1]));
    calls = Files.readString(log);
  }

  /** Of what is not the volume's: names, links, sizes, times and inodes. */
  private static String state() {
    return Shell.run("find", outside, "-printf", "%p %i %n %s %m %T@ %C@\n");
  }

  /** Unpacks each archive of a directory, and tells how that went. */
  static final class Unpacks {
    private Unpacks() {}

    public static void main(String[] args) throws IOException {
      var dir = Path.of(args[0]);
      try (var files = Files.list(dir.resolve("archives"))) {
        for (var file : files.sorted(Comparator.naturalOrder()).toList()) {
          System.out.println(file.getFileName() + "\t" + unpacked(dir, file));
        }
      }
      var status = Files.readString(Path.of("/proc/self/status"));
      var peak = status.replaceFirst("(?s).*VmHWM:\\s*(\\d+) kB.*", "$1");
      System.out.println("peak\t" + Long.parseLong(peak) * 1024);
      System.out.println("capabilities\t" + status.replaceFirst("(?s).*CapEff:\\s*(\\w+).*", "$1"));
    }

    private static String unpacked(Path dir, Path file) throws IOException {
      var volume = Files.createDirectories(dir.resolve("volumes").resolve(file.getFileName()));
      var layout = new StateLayout(dir.resolve("state"), dir.resolve("run"));
      var config = new NodeConfig(layout, Optional.empty(), Optional.empty());
      try {
        new DiskImport(file.toString(), volume, Optional.empty(), Format.TAR, SIZE, false)
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
  void eachIsRefusedByNameAndNoneIsComplete() throws IOException {
    var peak = Long.parseLong(String.valueOf(OUTCOMES.remove("peak")));
    assertThat(OUTCOMES.remove("capabilities")).isEqualTo("0000000000000000");
    assertThat(OUTCOMES.keySet()).hasSizeGreaterThan(45);
    assertThat(OUTCOMES)
        .allSatisfy(
            (name, outcome) ->
                assertThat(outcome).as(name).matches("(REFUSED|INVALID) .*(refused|fit).*"));
    OUTCOMES.forEach((name, outcome) -> System.out.println(name + ": " + outcome));
    for (var name : OUTCOMES.keySet()) {
      var record = dir.resolve("volumes").resolve(name).resolve("disk.img.json");
      assertThat(record).as(name).isRegularFile();
      assertThat(FillRecord.parse(Files.readString(record)).orElseThrow().complete())
          .as(name)
          .isFalse();
    }
    assertThat(peak).isBetween(1L, MOST_MEMORY);
  }

  @Test
  void nothingOutsideIsTouched() {
    assertThat(state()).isEqualTo(before);
    assertThat(calls).as("strace sees the text of links").contains("symlinkat(\"" + outside);
    assertThat(calls.lines().filter(line -> line.contains("outside")))
        .allSatisfy(line -> assertThat(line).contains("symlinkat("));
    assertThat(calls.lines().filter(line -> line.contains("execve("))).hasSize(1);
    assertThat(calls.lines().filter(line -> line.contains("mknod"))).isEmpty();
  }
}
