package dev.platter.node.volumes;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.platter.lab.Shell;
import dev.platter.model.ByteSize;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A pool on a small disk: qemu-io writes to its volumes as QEMU does. */
class FullOuterDiskTest {
  private static final long MIB = 1L << 20;
  private static final String EXT4 = "ext4 -q -m 0 -b 4096";
  private static final String XFS = "xfs -q";

  @TempDir Path root;
  private Path disk = Path.of("/");
  private @Nullable VolumeDirectory directory;

  private void makeDisk(String mkfs) throws IOException {
    assumeTrue(Files.isWritable(Path.of("/dev/loop-control")), "no loop devices: not root");
    var at = Files.createDirectory(root.resolve("disk"));
    Shell.run(
        "sh",
        "-euc",
        "truncate -s 448M $0/file; mkfs.%s $0/file; mount -o loop $0/file $1".formatted(mkfs),
        root,
        at);
    disk = at;
  }

  @AfterEach
  void unmountDisk() throws IOException {
    if (directory != null) {
      var store = VolumeStore.open(directory);
      for (var volume : store.volumes()) {
        LoopDevices.detachAll(store.bytes(volume));
      }
      directory.close();
    }
    if (disk.startsWith(root)) {
      Shell.run("umount", "--lazy", disk);
    }
  }

  private VolumeStore open(@Nullable ByteSize limit) throws IOException {
    directory = VolumeDirectory.open(disk.resolve("pool"), limit);
    return VolumeStore.open(directory);
  }

  private static String io(Path device, String... commands) {
    var words = new ArrayList<>(List.of("qemu-io", "-t", "none", "-f", "raw"));
    for (var command : commands) {
      words.addAll(List.of("-c", command));
    }
    words.add(device.toString());
    return Shell.shell().execute(words.toArray()).output();
  }

  @ParameterizedTest
  @ValueSource(strings = {EXT4, XFS})
  void aVolumeAsLargeAsThereIsRoomCanBeWrittenToItsLastByte(String mkfs) throws IOException {
    makeDisk(mkfs);
    var store = open(null);
    var volume = store.create("all", store.room(), null);
    assertThat(store.room()).isZero();
    assertThatThrownBy(() -> store.create("more", MIB, null)).isInstanceOf(NoRoomException.class);
    var device = LoopDevices.attachToBind(store.bytes(volume), false);
    for (var at = 0L; at < volume.capacity(); at += 16 * MIB) {
      var much = Math.min(16 * MIB, volume.capacity() - at);
      assertThat(io(device, "write -P 17 %d %d".formatted(at, much), "flush"))
          .contains("wrote %d/%d".formatted(much, much));
    }
    assertThat(io(device, "read -P 17 0 %d".formatted(volume.capacity())))
        .contains("read %1$d/%1$d".formatted(volume.capacity()))
        .doesNotContain("failed");
  }

  @Test
  void whatAFullDiskRefusedIsWrittenWhenThereIsRoomAgainAndNothingElseIsLost() throws IOException {
    makeDisk(EXT4);
    var store = open(ByteSize.parse("10Gi"));
    var volume = store.create("a", 256 * MIB, null);
    var device = LoopDevices.attachToBind(store.bytes(volume), false);
    var written = 0L;
    while (written < 16 * MIB) {
      assertThat(write(device, written)).isTrue();
      written += MIB;
    }
    var filler = disk.resolve("filler");
    Shell.run("sh", "-c", "dd if=/dev/zero of=$0 bs=1M 2>/dev/null; sync; true", filler);
    while (write(device, written)) {
      written += MIB;
      assertThat(written).as("of a disk that is full").isLessThan(volume.capacity());
    }
    Files.delete(filler);
    Shell.run("sync", "--file-system", disk);
    for (; written < volume.capacity(); written += MIB) {
      assertThat(write(device, written)).isTrue();
    }
    assertThat(io(device, "flush")).doesNotContain("failed");
    LoopDevices.detachAll(store.bytes(volume));
    directory.close();
    store = open(ByteSize.parse("10Gi"));
    for (var at = 0L; at < volume.capacity(); at += MIB) {
      assertThat(io(store.bytes(volume), "read -P %d %d 1M".formatted(pattern(at), at)))
          .contains("read 1048576/1048576")
          .doesNotContain("failed");
    }
    assertThat(store.create("b", MIB, null).capacity()).isEqualTo(MIB);
  }

  private static boolean write(Path device, long at) {
    return io(device, "write -P %d %d 1M".formatted(pattern(at), at))
        .contains("wrote 1048576/1048576");
  }

  private static long pattern(long at) {
    return 1 + at / MIB % 250;
  }

  @Test
  void aLimitMayBeMoreThanAFileOfExt4CanBe() throws IOException {
    makeDisk(EXT4);
    var store = open(ByteSize.parse("20Ti"));
    assertThat(store.room()).isBetween(14L << 40, 16L << 40);
    assertThat(disk.resolve("pool/volumes.xfs")).exists();
  }
}
