package dev.platter.lab;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

class LoopTest {
  @TempDir private Path dir;

  @Test
  void whatQemuWritesToTheDeviceIsInTheFile() throws Exception {
    assumeTrue(LoopDevice.isPossible(), "no loop devices: not root, or no driver");
    Path disk = TestFile.make(dir.resolve("disk"));
    try (var device = LoopDevice.attach(disk)) {
      TestFile.mark(device.path().toString());
      assertThat(Shell.run("losetup", "--associated", disk)).contains(device.path().toString());
    }
    assertThat(TestFile.isMarked(disk.toString())).isTrue();
    assertThat(Shell.run("losetup", "--associated", disk)).isEmpty();
  }

  @ParameterizedTest
  @EnumSource
  void aFileSystemIsMountedAndGoneWhenClosed(LoopMount.Type type) throws Exception {
    assumeTrue(type.isPossible(), () -> "no %s on loop devices here".formatted(type));
    Path path;
    try (var mount = LoopMount.make(dir, type, 320 << 20)) {
      path = mount.path();
      assertThat(Files.getFileStore(path).type()).isEqualToIgnoringCase(type.name());
      TestFile.make(path.resolve("file"));
      assertThat(Shell.run("df", "-P", path)).contains("/dev/loop");
    }
    assertThat(path).isEmptyDirectory();
    assertThat(Shell.run("losetup", "--list")).doesNotContain(dir.toString());
  }
}
