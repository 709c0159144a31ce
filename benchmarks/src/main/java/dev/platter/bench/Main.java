package dev.platter.bench;

import java.io.IOException;
import java.io.PrintWriter;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.Optional;

/** {@code ./bench --list}, {@code ./bench NAME [-o json] [--rounds N] [--publish]}. */
public final class Main {
  private static final List<Benchmark> ALL =
      List.of(
          new RootfsBenchmark(),
          new NbdBenchmark(),
          new IscsiBenchmark(),
          new ConvertBenchmark(),
          new LazyBenchmark(),
          new ForeignBenchmark(),
          new ShareBenchmark(),
          new CopyBenchmark(),
          new ApplyBenchmark(),
          new IdentitiesBenchmark(),
          new MoveBenchmark(),
          new SnapshotBenchmark(),
          new ImportBenchmark(),
          new ContainersBenchmark());
  private static final int LEAST_ROUNDS = 7;

  private Main() {}

  public static void main(String[] args) throws Exception {
    var out = new PrintWriter(System.out, true, StandardCharsets.UTF_8);
    var arguments = List.of(args);
    if (arguments.isEmpty() || arguments.contains("--list") || arguments.contains("--help")) {
      out.println("usage: ./bench --list | NAME [-o json] [--rounds N] [--publish]");
      ALL.forEach(
          benchmark -> out.println("  " + benchmark.name() + "  " + benchmark.description()));
      return;
    }
    Optional<Benchmark> found =
        ALL.stream().filter(one -> one.name().equals(arguments.getFirst())).findFirst();
    if (found.isEmpty()) {
      out.println(
          "there is no benchmark " + arguments.getFirst() + "; './bench --list' lists them");
      System.exit(2);
    }
    run(found.orElseThrow(), arguments, out);
  }

  private static void run(Benchmark benchmark, List<String> arguments, PrintWriter out)
      throws Exception {
    var rounds =
        Math.max(
            LEAST_ROUNDS,
            option(arguments, "--rounds").map(Integer::parseInt).orElse(benchmark.rounds()));
    var work = Files.createTempDirectory("platter-bench-");
    try {
      var loadBefore = load();
      var rows = benchmark.run(work, rounds);
      var conditions =
          String.format(
              Locale.ROOT,
              "%s; %d processors; load %s before, %s after.",
              benchmark.conditions(rounds),
              Runtime.getRuntime().availableProcessors(),
              loadBefore,
              load());
      var report = new Report(benchmark, rows, conditions);
      if (option(arguments, "-o").orElse("table").equals("json")) {
        report.json(out);
      } else {
        report.table(out);
      }
      if (arguments.contains("--publish")) {
        report.publish(Path.of(System.getProperty("platter.home", "."), "docs", "bench"));
      }
    } finally {
      deleteTree(work);
    }
  }

  private static Optional<String> option(List<String> arguments, String name) {
    var at = arguments.indexOf(name);
    return at < 0 || at + 1 >= arguments.size()
        ? Optional.empty()
        : Optional.of(arguments.get(at + 1));
  }

  private static String load() throws IOException {
    return Files.readString(Path.of("/proc/loadavg")).split(" ")[0];
  }

  private static void deleteTree(Path directory) throws IOException {
    try (var files = Files.walk(directory)) {
      for (var file : files.sorted(Comparator.reverseOrder()).toList()) {
        Files.delete(file);
      }
    }
  }
}
