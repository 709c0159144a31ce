package dev.platter.cli;

import java.io.PrintWriter;
import java.util.Map;
import picocli.CommandLine.Option;

/** {@code -o FORMAT}: how a command shows what it found. */
final class OutputOption {
  @Option(
      names = {"-o", "--output"},
      paramLabel = "FORMAT",
      description = "table (default), wide, json or yaml.")
  Output format = Output.TABLE;

  boolean table() {
    return format == Output.TABLE || format == Output.WIDE;
  }

  /** Prints one object for programs; a table is the command's own business. */
  void print(Map<String, Object> object, PrintWriter out) {
    out.print(format == Output.JSON ? Listing.json(object) + "\n" : Listing.yaml(object));
  }
}
