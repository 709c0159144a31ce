package dev.platter.bench;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;

/**
 * The command {@code platter} as its container image starts it: a JVM with its cache of classes.
 */
record PlatterCommand(List<String> start) {
  private static final Path ROOT = Path.of(System.getProperty("repo.root"));

  /** Of this source tree, built if need be. */
  static PlatterCommand built() throws IOException, InterruptedException {
    Tool.time(ROOT.resolve("platter").toString(), "--version");
    var app = ROOT.resolve("cli/target/app");
    try (var jars = Files.list(app)) {
      var path = jars.map(Path::toString).sorted().collect(Collectors.joining(":"));
      return new PlatterCommand(
          List.of(
              ProcessHandle.current().info().command().orElse("java"),
              "-XX:+UseSerialGC",
              "-Xlog:disable",
              "-Xlog:all=off",
              "--enable-native-access=ALL-UNNAMED",
              "-XX:AOTCache=" + app + ".aot",
              "-cp",
              path,
              "dev.platter.cli.Main"));
    }
  }

  String[] words(Object... arguments) {
    var words = new ArrayList<>(start);
    for (var argument : arguments) {
      words.add(argument.toString());
    }
    return words.toArray(String[]::new);
  }
}
