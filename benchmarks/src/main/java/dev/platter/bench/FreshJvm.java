package dev.platter.bench;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;

/** A program of ours as a process of its own, with a cache of classes as {@code ./platter} has. */
record FreshJvm(Class<?> program, List<String> options) {
  /** Records the cache from a run with these arguments, as a build does. */
  static FreshJvm trained(Class<?> program, List<String> options, Path cache, String... arguments)
      throws Exception {
    new FreshJvm(program, with(options, "-XX:AOTCacheOutput=" + cache)).time(arguments);
    return new FreshJvm(program, with(options, "-XX:AOTCache=" + cache));
  }

  private static List<String> with(List<String> options, String another) {
    return Stream.concat(options.stream(), Stream.of(another)).toList();
  }

  Stopwatch.Reading time(String... arguments) throws Exception {
    var words =
        new ArrayList<>(
            List.of(
                ProcessHandle.current().info().command().orElse("java"),
                "-XX:+UseSerialGC",
                "-Xlog:disable",
                "-Xlog:all=off",
                "--enable-native-access=ALL-UNNAMED"));
    words.addAll(options);
    words.addAll(List.of("-cp", System.getProperty("java.class.path"), program.getName()));
    words.addAll(List.of(arguments));
    return Tool.time(words.toArray(String[]::new));
  }
}
