package dev.platter.bench;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;

/**
 * The command {@code platter} as its container image starts it to bring a disk: a JVM with its
 * cache of classes.
 */
record PlatterCommand(List<String> start) {
  private static final Path ROOT = Path.of(System.getProperty("repo.root"));
  private static final Path APP = ROOT.resolve("cli/target/app");

  /** Of this source tree, built if need be. */
  static PlatterCommand built() throws IOException, InterruptedException {
    var path = classPath();
    return new PlatterCommand(
        jvm(List.of("-XX:CompileThresholdScaling=4"), path, "dev.platter.cli.Main"));
  }

  /**
   * Its daemon, but for the class that is begun with.
   *
   * @param main of this benchmark; the cache does not mind classes behind those that it knows
   */
  static PlatterCommand daemon(Class<?> main) throws IOException, InterruptedException {
    var own = main.getProtectionDomain().getCodeSource().getLocation().getPath();
    var options = List.of("-XX:+UnlockDiagnosticVMOptions", "-XX:-AOTReplayTraining");
    return new PlatterCommand(jvm(options, classPath() + ":" + own, main.getName()));
  }

  private static String classPath() throws IOException, InterruptedException {
    Tool.time(ROOT.resolve("platter").toString(), "--version");
    try (var jars = Files.list(APP)) {
      return jars.map(Path::toString).sorted().collect(Collectors.joining(":"));
    }
  }

  private static List<String> jvm(List<String> options, String path, String main) {
    var words = new ArrayList<String>();
    words.add(ProcessHandle.current().info().command().orElse("java"));
    words.addAll(
        List.of(
            "-XX:+UseSerialGC",
            "-Xlog:disable",
            "-Xlog:all=off",
            "--enable-native-access=ALL-UNNAMED",
            "-XX:-UsePerfData"));
    words.addAll(options);
    words.addAll(List.of("-XX:AOTCache=" + APP + ".aot", "-cp", path, main));
    return words;
  }

  String[] words(Object... arguments) {
    var words = new ArrayList<>(start);
    for (var argument : arguments) {
      words.add(argument.toString());
    }
    return words.toArray(String[]::new);
  }
}
