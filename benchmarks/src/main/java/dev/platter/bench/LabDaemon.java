package dev.platter.bench;

import dev.platter.node.NodeConfig;
import dev.platter.node.NodeDaemon;
import dev.platter.node.image.ImageDaemon;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;

/**
 * The daemon as a process of its own: {@code DIRECTORY LIBVIRT QUIET}. As long as its guests have
 * not been quiet for so long it fetches only what they read, so that this can be counted.
 */
final class LabDaemon {
  static final Duration NEVER = Duration.ofDays(1);

  private LabDaemon() {}

  static List<String> command(Path directory, String libvirt, Duration quiet) {
    return List.of(
        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
        "-XX:+UseSerialGC",
        "--enable-native-access=ALL-UNNAMED",
        "-cp",
        System.getProperty("java.class.path"),
        LabDaemon.class.getName(),
        directory.toString(),
        libvirt,
        quiet.toString());
  }

  static ImageDaemon.Options options(Duration quiet) {
    return new ImageDaemon.Options(Duration.ofMinutes(1), quiet, NEVER, 0, 0);
  }

  public static void main(String[] args) throws Exception {
    var layout = LabNode.layout(Path.of(args[0]));
    var config = new NodeConfig(layout, Optional.of(args[1]), Optional.empty());
    new NodeDaemon(config, System.err::println).run(options(Duration.parse(args[2])));
  }
}
