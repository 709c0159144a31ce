package dev.platter.cluster.csi;

import com.fasterxml.jackson.databind.ObjectMapper;
import dev.platter.lab.Shell;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Stream;

/** {@code csi-sanity} of Kubernetes, which speaks with the gRPC of Go, as kubelet does. */
final class CsiSanity {
  private static final Duration TO_BUILD = Duration.ofMinutes(15);
  private static final Duration TO_RUN = Duration.ofMinutes(5);

  private CsiSanity() {}

  /** How many tests ended so; of those that did not pass, with the reason that they give. */
  static Map<String, Integer> run(Path socket, Path work, String... options) throws IOException {
    var sanity =
        Shell.shell()
            .within(TO_BUILD)
            .check(Path.of(System.getProperty("repo.root"), "lab/csi-sanity/build"))
            .out()
            .strip();
    var report = work.resolve("report.json");
    var words =
        Stream.of(
            sanity + "/csi-sanity",
            "--csi.endpoint=unix:" + socket,
            "--ginkgo.json-report=" + report,
            "--ginkgo.no-color");
    Shell.shell().within(TO_RUN).check(Stream.concat(words, Stream.of(options)).toArray());
    return outcomes(report);
  }

  private static Map<String, Integer> outcomes(Path report) throws IOException {
    var outcomes = new TreeMap<String, Integer>();
    for (var suite : new ObjectMapper().readTree(report.toFile())) {
      for (var test : suite.get("SpecReports")) {
        var state = test.get("State").asText();
        if (test.get("LeafNodeType").asText().equals("It")) {
          outcomes.merge(
              state.equals("passed") ? state : state + " " + test.at("/Failure/Message").asText(),
              1,
              Integer::sum);
        }
      }
    }
    return outcomes;
  }
}
