package dev.platter.cluster.csi;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.platter.lab.Shell;
import dev.platter.model.ByteSize;
import dev.platter.node.volumes.DrawnVolumes;
import dev.platter.node.volumes.VolumeDirectory;
import dev.platter.node.volumes.VolumeStore;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The driver of volumes against {@code csi-sanity}; docs/volumes.md says why some do not apply. */
class VolumeSanityTest {
  private static final Map<String, Integer> EXPECTED =
      Map.of(
          "passed", 78,
          "pending ", 1,
          "skipped ControllerPublishVolume not supported", 7,
          "skipped ControllerUnpublishVolume not supported", 1,
          "skipped Controller Publish, UnpublishVolume not supported", 2,
          "skipped ControllerModifyVolume not supported", 6,
          "skipped Modify Volume not supported", 1,
          "skipped Modify volume not supported", 1,
          "skipped GroupControllerService not supported", 6);

  @TempDir Path root;

  @Test
  void keepsWhatTheSpecificationSaysOfDirectories() throws Exception {
    assertThat(run("mount")).isEqualTo(EXPECTED);
  }

  @Test
  void keepsWhatTheSpecificationSaysOfDevices() throws Exception {
    assertThat(run("block")).isEqualTo(EXPECTED);
  }

  private Map<String, Integer> run(String accessType) throws IOException {
    assumeTrue(Files.isWritable(Path.of("/dev/loop-control")), "no loop devices: not root");
    Map<String, Integer> outcomes;
    Files.createDirectory(root.resolve("pods"));
    try (var directory = VolumeDirectory.open(root.resolve("pool"), ByteSize.parse("8Gi"));
        var drawn =
            DrawnVolumes.start(
                VolumeStore.open(directory), CsiServer.drawnFiles(root), root.resolve("nobody"));
        var _ = CsiServer.start(root, "node1", drawn)) {
      outcomes =
          CsiSanity.run(
              root.resolve("plugins/local.csi.platter.dev/csi.sock"),
              root,
              "--csi.mountdir=" + root.resolve("pods/target"),
              "--csi.stagingdir=" + root.resolve("plugins/staging"),
              "--csi.testvolumesize=" + (64 << 20),
              "--csi.testvolumeexpandsize=" + (96 << 20),
              "--csi.testvolumeaccesstype=" + accessType);
      assertThat(root.resolve("pool/volumes/volumes")).isEmptyDirectory();
      assertThat(root.resolve("pool/volumes/snapshots")).isEmptyDirectory();
    }
    // Those that clear themselves are held by a copy of the mount in somebody's namespace.
    assertThat(Shell.run("losetup", "--list", "--noheadings", "--output", "AUTOCLEAR,BACK-FILE"))
        .doesNotContainPattern("(?m)^ *0 +" + root);
    assertThat(Files.readString(Path.of("/proc/self/mountinfo"))).doesNotContain(root.toString());
    return outcomes;
  }
}
