package dev.platter.node;

import dev.platter.node.image.ImageDaemon;
import dev.platter.node.volumes.TestDriver;
import dev.platter.plan.StateLayout;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;

/** The daemon as a process of its own, started by the node under test as a command would. */
final class TestDaemon {
  private TestDaemon() {}

  static List<String> command(Path work, String uri, Duration quiet) {
    return List.of(
        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
        "-XX:+UseSerialGC",
        "-XX:TieredStopAtLevel=1",
        "--enable-native-access=ALL-UNNAMED",
        "-cp",
        System.getProperty("java.class.path"),
        TestDaemon.class.getName(),
        work.toString(),
        uri,
        quiet.toString());
  }

  /** The daemons of a node, without the shells around them. */
  static List<ProcessHandle> running(Path work) {
    return ProcessHandle.allProcesses()
        .filter(
            process ->
                process.info().arguments().stream()
                    .flatMap(Arrays::stream)
                    .anyMatch(work.toString()::equals))
        .filter(process -> process.info().command().orElse("").endsWith("java"))
        .toList();
  }

  static void end(Path work) throws Exception {
    for (var daemon : running(work)) {
      daemon.destroy();
      daemon.onExit().get();
    }
  }

  public static void main(String[] args) throws Exception {
    var work = Path.of(args[0]);
    var quiet = Duration.parse(args[2]);
    var config =
        new NodeConfig(
                new StateLayout(work.resolve("state"), work.resolve("run")),
                Optional.of(args[1]),
                Optional.empty())
            .withDrawn(TestDriver.files(work));
    new NodeDaemon(config, System.err::println)
        .run(new ImageDaemon.Options(Duration.ofSeconds(20), quiet, quiet.multipliedBy(10), 0, 0));
  }
}
