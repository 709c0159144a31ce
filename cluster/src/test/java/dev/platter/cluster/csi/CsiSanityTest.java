package dev.platter.cluster.csi;

import static org.assertj.core.api.Assertions.assertThat;

import dev.platter.cluster.node.PodDirectory;
import java.nio.file.Path;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * The driver of sockets against {@code csi-sanity}. That knows no inline volumes and has a
 * controller make those that it publishes, so what is left are identity, node information and
 * refusals; docs/cluster.md says why of each that is not.
 */
class CsiSanityTest {
  /** Those of a controller, which do not ask first whether there is one. */
  private static final String NEED_A_CONTROLLER = "\\[Controller Server]|should remove target path";

  @TempDir Path root;

  @Test
  void keepsWhatTheSpecificationSays() throws Exception {
    Map<String, Integer> outcomes;
    try (var pods = new PodDirectory(root, (_, _) -> {});
        var _ = CsiServer.start(root, "node1", pods)) {
      outcomes =
          CsiSanity.run(
              root.resolve("plugins/csi.platter.dev/csi.sock"),
              root,
              "--csi.mountdir=" + root.resolve("target"),
              "--csi.stagingdir=" + root.resolve("staging"),
              "--ginkgo.skip=" + NEED_A_CONTROLLER);
    }
    assertThat(outcomes)
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
}
