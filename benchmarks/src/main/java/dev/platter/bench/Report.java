package dev.platter.bench;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.SerializationFeature;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;

/**
 * Shows the rows of a benchmark: a table on the terminal, and a page with a chart in the
 * repository.
 */
final class Report {
  private static final ObjectMapper JSON =
      new ObjectMapper().enable(SerializationFeature.INDENT_OUTPUT);

  private final Benchmark benchmark;
  private final List<Row> rows;
  private final String conditions;

  Report(Benchmark benchmark, List<Row> rows, String conditions) {
    this.benchmark = benchmark;
    this.rows = rows;
    this.conditions = conditions;
  }

  void json(PrintWriter out) throws IOException {
    out.println(JSON.writeValueAsString(rows));
    out.flush();
  }

  void table(PrintWriter out) {
    var width = rows.stream().mapToInt(row -> row.row().length()).max().orElse(3);
    var rivals = rows.stream().mapToInt(row -> row.rivalName().length()).max().orElse(5);
    var head = "%-" + width + "s  %10s  %10s  %-" + rivals + "s  %8s  %9s  %9s%n";
    out.printf(
        Locale.ROOT, head, "row", "ours", "rival", "rival's name", "ratio", "our CPU", "its CPU");
    for (var row : rows) {
      out.printf(
          Locale.ROOT,
          "%-" + width + "s  %10s  %10s  %-" + rivals + "s  %8s  %9s  %9s%n",
          row.row(),
          value(row.ours(), " " + row.unit()),
          value(row.rival(), " " + row.unit()),
          row.rivalName(),
          value(row.ratio(), "x"),
          cpu(row.oursCpu()),
          cpu(row.rivalCpu()));
    }
    out.println(conditions);
    out.flush();
  }

  private static String cpu(double millis) {
    return value(millis, " ms");
  }

  private static String value(double value, String unit) {
    return Double.isNaN(value) ? "–" : String.format(Locale.ROOT, "%.2f%s", value, unit);
  }

  /** Writes NAME.md, NAME.json and NAME.svg. */
  void publish(Path directory) throws IOException {
    Files.createDirectories(directory);
    var page =
        new StringBuilder("# " + benchmark.name() + "\n\n" + benchmark.description() + "\n\n");
    page.append("![" + benchmark.name() + "](" + benchmark.name() + ".svg)\n\n");
    page.append(
        "| row | ours | rival | | rival / ours | our CPU | its CPU |\n|---|--:|--:|---|--:|--:|--:|\n");
    for (var row : rows) {
      page.append(
          String.format(
              Locale.ROOT,
              "| %s | %s | %s | %s | %s | %s | %s |%n",
              row.row(),
              value(row.ours(), " " + row.unit()),
              value(row.rival(), " " + row.unit()),
              row.rivalName(),
              value(row.ratio(), "x"),
              cpu(row.oursCpu()),
              cpu(row.rivalCpu())));
    }
    page.append("\n").append(conditions).append("\n");
    Files.writeString(directory.resolve(benchmark.name() + ".md"), page);
    Files.writeString(
        directory.resolve(benchmark.name() + ".json"), JSON.writeValueAsString(rows) + "\n");
    Files.writeString(directory.resolve(benchmark.name() + ".svg"), Chart.of(rows));
  }
}
