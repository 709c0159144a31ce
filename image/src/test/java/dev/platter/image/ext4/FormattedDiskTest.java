package dev.platter.image.ext4;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.platter.image.ForeignTool;
import dev.platter.image.testing.Qemu;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.UUID;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The file system of a formatted disk is as e2fsck and QEMU want it. */
class FormattedDiskTest {
  private static final UUID ID = UUID.fromString("3b241101-e2bb-4255-8caf-4136c566a962");
  private static final Instant MADE = Instant.parse("2024-05-06T07:08:09Z");

  @TempDir Path dir;
  private Path scratch;

  @BeforeEach
  void scratch() throws IOException {
    scratch = Files.createDirectory(dir.resolve("scratch"));
  }

  @ParameterizedTest
  @ValueSource(
      longs = {
        FormattedDisk.MIN_SIZE,
        16 << 20,
        (100 << 20) + 1,
        1_024_000_000,
        100L << 30,
        FormattedDisk.MAX_SIZE
      })
  void aDiskOfAnySizeHasOneCleanFileSystem(long size) throws IOException {
    Path disk = dir.resolve("disk.qcow2");
    FormattedDisk.create(disk, size, ID, MADE, scratch);
    assertThat(Qemu.img("check", disk)).contains("No errors were found");
    assertThat(scratch).isEmptyDirectory();

    ForeignTool.sh(dir, "qemu-img convert -f qcow2 -O raw disk.qcow2 disk.raw");
    long sectors = Math.ceilDiv(size, 512L);
    assertThat(ForeignTool.run(dir, "sfdisk", "-d", "disk.raw"))
        .containsPattern("start= +2048, size= +" + (sectors - 2048) + ", type=83")
        .contains("label-id: 0x3b241101");
    String device = "disk.raw?offset=1048576";
    assertThat(ForeignTool.run(dir, "e2fsck", "-fn", device)).contains("disk.raw: 11/");
    String facts = ForeignTool.sh(dir, "dumpe2fs -h '" + device + "' 2>/dev/null");
    assertThat(facts)
        .contains(ID.toString())
        .containsPattern("Block count: +" + (sectors - 2048) / 8 + "\n")
        .contains("has_journal")
        .doesNotContain("metadata_csum", "64bit");
  }

  @Test
  void sameDiskSameBytes() throws IOException {
    Path one = dir.resolve("one.qcow2");
    Path two = dir.resolve("two.qcow2");
    FormattedDisk.create(one, 300 << 20, ID, MADE, scratch);
    FormattedDisk.create(two, 300 << 20, ID, MADE, scratch);
    assertThat(Files.mismatch(one, two)).isEqualTo(-1);
  }

  @Test
  void whatACrashLeftIsReplaced() throws IOException {
    Path disk = dir.resolve("disk.qcow2");
    Files.write(FormattedDisk.temporary(disk, scratch), new byte[30 << 20]);
    FormattedDisk.create(disk, 20 << 20, ID, MADE, scratch);
    assertThat(scratch).isEmptyDirectory();
    assertThat(disk).exists();
  }

  @Test
  void sizesWithoutRoomForAFileSystemAreRefused() {
    for (long size : new long[] {0, FormattedDisk.MIN_SIZE - 1, FormattedDisk.MAX_SIZE + 1}) {
      assertThatThrownBy(
              () -> FormattedDisk.create(dir.resolve("disk.qcow2"), size, ID, MADE, scratch))
          .isInstanceOf(IllegalArgumentException.class)
          .hasMessageContaining("a formatted disk of " + size + " bytes");
    }
    assertThat(dir.resolve("disk.qcow2")).doesNotExist();
  }

  @Test
  void whatMke2fsSaysIsInTheError() {
    assertThatThrownBy(() -> Mke2fs.format(dir.resolve("missing/file"), 0, 16 << 20, ID, MADE))
        .isInstanceOf(IOException.class)
        .hasMessageStartingWith("mke2fs ended with status 1")
        .hasMessageContaining("No such file");
  }
}
