package dev.platter.bench;

import java.nio.file.Path;
import java.util.List;

/** One question, answered by rows of ours against a rival. */
interface Benchmark {
  String name();

  /** What is measured and under what conditions, for the page that shows the result. */
  String description();

  /** How many rounds count unless somebody asks for another number. */
  default int rounds() {
    return 15;
  }

  /** How the numbers came about. */
  default String conditions(int rounds) {
    return "Medians of " + rounds + " rounds after five to warm up, interleaved";
  }

  /**
   * @param work an empty directory, removed afterwards
   */
  List<Row> run(Path work, int rounds) throws Exception;
}
