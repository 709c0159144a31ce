package dev.platter.lab;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** One test with one client: each takes 10 s to close. */
class GlusterVolumeTest {
  @Test
  void qemuWritesToAFileThatWasPutIntoTheBrick(@TempDir Path dir) throws Exception {
    try (var volume = GlusterVolume.start(dir)) {
      Path disk = TestFile.make(volume.brick().resolve("disk"));
      TestFile.mark(volume.url("disk"));
      assertThat(TestFile.isMarked(disk.toString())).isTrue();
    }
  }
}
