package dev.platter.node.volumes;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.platter.lab.Shell;
import dev.platter.model.ByteSize;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A pool on an XFS that others fill to the last inode. */
class FullPoolTest {
  private static final long SIZE = 1L << 20;

  @TempDir Path root;
  private Path disk;
  private VolumeDirectory directory;

  @BeforeEach
  void makeDisk() throws IOException {
    assumeTrue(Files.isWritable(Path.of("/dev/loop-control")), "no loop devices: not root");
    disk = Files.createDirectory(root.resolve("disk"));
    Shell.run(
        "sh",
        "-euc",
        "truncate -s 320M $0/xfs; mkfs.xfs -q $0/xfs; mount -o loop $0/xfs $0/disk",
        root);
  }

  @AfterEach
  void unmountDisk() throws IOException {
    if (directory != null) {
      directory.close();
    }
    if (disk != null) {
      Shell.run("umount", disk);
    }
  }

  private VolumeStore open() throws IOException {
    directory = VolumeDirectory.open(disk.resolve("pool"), ByteSize.parse("10Gi"));
    return VolumeStore.open(directory);
  }

  private void fill() {
    Shell.run(
        "sh",
        "-c",
        """
        cd $0; for size in 64M 8M 1M 64K 4K; do
          i=0; while fallocate -l $size data-$size-$i; do i=$((i + 1)); done
        done 2>/dev/null
        i=0; while (: >empty-$i); do i=$((i + 1)); done 2>/dev/null; true
        """,
        disk);
  }

  @Test
  void isOpenedAndItsVolumesAreDeleted() throws IOException {
    var volume = open().create("a", SIZE, null);
    fill();
    directory.close();
    var store = open();
    assertThat(store.volumes()).containsExactly(volume);
    store.delete(volume.id());
    assertThat(store.volumes()).isEmpty();
    assertThat(disk.resolve("pool/volumes.xfs")).doesNotExist();
  }

  @Test
  void hasNoRoomWhateverItsLimitIs() throws IOException {
    var store = open();
    var volume = store.create("a", SIZE, null);
    fill();
    assertThatThrownBy(() -> store.create("b", SIZE, null)).isInstanceOf(NoRoomException.class);
    assertThatThrownBy(() -> store.snapshot("s", volume.id())).isInstanceOf(NoRoomException.class);
    assertThatThrownBy(() -> store.expand(volume.id(), 2 * SIZE))
        .isInstanceOf(NoRoomException.class);
    assertThat(store.volume(volume.id())).contains(volume);
  }
}
