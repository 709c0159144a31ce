package dev.platter.node;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.platter.lab.LoopDevice;
import dev.platter.lab.Shell;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class RoomTest {
  @TempDir Path work;
  private boolean mounted;

  @AfterEach
  void unmount() {
    if (mounted) {
      Shell.run("umount", work.resolve("disk"));
    }
  }

  /** Writes that find no room leave more of it than one would think, and less than is wanted. */
  @ParameterizedTest
  @ValueSource(strings = {"ext4 -q", "ext4 -q -m 0", "xfs -q"})
  void aDiskThatTakesNoMoreHasNoRoomUntilSomethingIsDeleted(String mkfs) throws Exception {
    assumeTrue(LoopDevice.isPossible(), "no loop devices: not root, or no driver");
    Shell.run(
        "sh",
        "-euc",
        """
        cd "$0"; mkdir disk; truncate -s 2G file; mkfs.%s file; mount -o loop file disk
        fallocate -l $(($(stat -f -c '%%a * %%S' disk) - 134217728)) disk/ballast
        fallocate -l 64M disk/small
        """
            .formatted(mkfs),
        work);
    mounted = true;
    var file = work.resolve("disk/small");
    assertThat(Room.isShort(file)).isTrue();
    assertThat(Room.isBack(file)).isTrue();
    Shell.run("sh", "-c", "dd if=/dev/zero of=$0/more bs=64k 2>/dev/null; sync", file.getParent());
    assertThat(Room.isBack(file)).isFalse();
    Files.delete(file);
    Shell.run("sync");
    assertThat(Room.isBack(file.resolveSibling("more"))).isTrue();
  }
}
