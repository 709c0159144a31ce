package dev.platter.cluster.csi;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.ObjectMapper;
import dev.platter.cluster.node.PodDirectory;
import dev.platter.lab.Shell;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * The driver against {@code csi-sanity} of Kubernetes, which speaks with the gRPC of Go, as kubelet
 * does. It knows no inline volumes and has a controller make those that it publishes, so what is
 * left are identity, node information and refusals; docs/cluster.md says why of each that is not.
 */
class CsiSanityTest {
  private static final Duration TO_BUILD = Duration.ofMinutes(15);

  /** Those of a controller, which do not ask first whether there is one. */
  private static final String NEED_A_CONTROLLER = "\\[Controller Server]|should remove target path";

  @TempDir Path root;

  @Test
  void keepsWhatTheSpecificationSays() throws Exception {
    var sanity =
        Shell.shell()
            .within(TO_BUILD)
            .check(Path.of(System.getProperty("repo.root"), "lab/csi-sanity/build"))
            .out()
            .strip();
    var report = root.resolve("report.json");
    try (var pods = new PodDirectory(root, (_, _) -> {});
        var _ = CsiServer.start(root, "node1", pods)) {
      Shell.run(
          sanity,
          "--csi.endpoint=unix:" + root.resolve("plugins/csi.platter.dev/csi.sock"),
          "--csi.mountdir=" + root.resolve("target"),
          "--csi.stagingdir=" + root.resolve("staging"),
          "--ginkgo.skip=" + NEED_A_CONTROLLER,
          "--ginkgo.json-report=" + report,
          "--ginkgo.no-color");
    }
    assertThat(outcomes(report))
        .isEqualTo(
            Map.ofEntries(
                Map.entry("passed", 10),
                Map.entry("pending ", 1),
                Map.entry("skipped ", 67),
                Map.entry("skipped Controller Service not provided: CreateVolume not supported", 2),
                Map.entry("skipped GroupControllerService not supported", 6),
                Map.entry("skipped NodeExpandVolume not supported", 4),
                Map.entry("skipped NodeGetStorageHealth not supported", 1),
                Map.entry("skipped NodeGetVolume not supported", 4),
                Map.entry("skipped NodeGetVolumeHealth not supported", 2),
                Map.entry("skipped NodeStageVolume not supported", 3),
                Map.entry("skipped NodeUnstageVolume not supported", 2),
                Map.entry("skipped Service does not have single node multi writer capability", 1)));
  }

  /** How many tests ended so; of those that did not run, with the reason that they give. */
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
