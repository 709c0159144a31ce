package dev.platter.image.ext4;

import static dev.platter.image.ext4.ExtImage.file;
import static java.nio.file.StandardOpenOption.READ;
import static java.nio.file.StandardOpenOption.WRITE;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.platter.image.BadImageException;
import dev.platter.image.ByteSource;
import dev.platter.image.ForeignTool;
import dev.platter.image.qcow2.Qcow2Overlay;
import dev.platter.image.qcow2.Qcow2Overlay.Backing;
import dev.platter.image.testing.Qemu;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The root file system is found in disks as partitioning tools make them. */
class VolumeSearchTest {
  private static final int MIB = 1 << 20;

  @TempDir Path dir;
  private Path disk;

  @BeforeEach
  void disk() throws IOException {
    disk = dir.resolve("disk");
    Files.createDirectories(dir.resolve("root/etc"));
    Files.createDirectories(dir.resolve("boot/grub"));
    ForeignTool.run(dir, "truncate", "-s", "100M", "disk");
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "label: dos\n2048,20480,L\n40960,81920,L\n",
        "label: gpt\n2048,20480,L\n40960,81920,L\n",
        "label: dos\n2048,20480,L\n22528,,E\n40960,81920,L\n",
        "label: dos\n2048,20480,L\n22528,,E\n24576,2048,L\n28672,2048,L\n40960,81920,L\n"
      })
  void rootIsThePartitionWithEtc(String table) throws IOException {
    partition(table);
    mke2fs("boot", 1, 10);
    mke2fs("root", 20, 40);
    write("/etc/here", "root");
    assertThat(cat(20, "/etc/here")).isEqualTo("root");
    assertClean(1);
    assertClean(20);
  }

  /** As old tools did it: the partition starts at sector 63, and blocks straddle clusters. */
  @Test
  void anOverlayThatBeginsWithThePatchShowsTheFile() throws IOException {
    partition("label: dos\n63,120000,L\n");
    ForeignTool.run(
        dir, "mke2fs", "-qF", "-t", "ext3", "-E", "offset=32256", "-d", "root", "disk", "50M");
    Path overlay = dir.resolve("overlay");
    byte[] before = Files.readAllBytes(disk);
    try (FileChannel channel = FileChannel.open(disk, READ)) {
      ByteSource source = ByteSource.of(channel);
      Patch patch =
          Ext4Files.write(source, List.of(file("/etc/here", "x".repeat(99_999))), ExtImage.NOW);
      Qcow2Overlay.create(
          overlay, new Backing(disk.toString(), "raw"), channel.size(), patch.over(source));
    }
    assertThat(Files.readAllBytes(disk)).isEqualTo(before);
    assertThat(Qemu.img("check", overlay)).contains("No errors were found");
    Qemu.img("convert", "-f", "qcow2", "-O", "raw", overlay, dir.resolve("flat"));
    ForeignTool.run(dir, "e2fsck", "-fn", "flat?offset=32256");
    assertThat(ForeignTool.sh(dir, "debugfs -R 'cat /etc/here' 'flat?offset=32256'"))
        .isEqualTo("x".repeat(99_999));
  }

  @Test
  void aDiskWithoutPartitionsIsOneFileSystem() throws IOException {
    mke2fs("boot", 0, 40);
    write("/here", "disk");
    assertThat(cat(0, "/here")).isEqualTo("disk");
    assertClean(0);
  }

  @Test
  void whatMayBeBootIsNotTakenForARootOfAnotherKind() throws IOException {
    partition("label: gpt\n2048,20480,L\n40960,81920,L\n");
    mke2fs("boot", 1, 10);
    ForeignTool.sh(dir, "printf XFSB | dd of=disk bs=1M seek=20 conv=notrunc status=none");
    refused(
        "none of the disk's ext file systems has a directory /etc; there is also partition 2: XFS");
  }

  @Test
  void anUncleanRootIsNotExchangedForItsBoot() throws IOException {
    partition("label: gpt\n2048,20480,L\n40960,81920,L\n");
    mke2fs("boot", 1, 10);
    mke2fs("root", 20, 40);
    ForeignTool.sh(
        dir, "debugfs -w -R 'feature needs_recovery' 'disk?offset=%d'".formatted(20 * MIB));
    refused("partition 2: the ext file system was not unmounted");
  }

  @Test
  void whatADiskWasBeforeItHadPartitionsDoesNotCount() throws IOException {
    mke2fs("root", 0, 15);
    partition("label: dos\n40960,81920,L\n");
    mke2fs("boot", 20, 40);
    write("/here", "partition");
    assertThat(cat(20, "/here")).isEqualTo("partition");
  }

  @Test
  void whatIsThereInsteadIsNamed() throws IOException {
    refused("it has the whole disk: something unknown");
    partition("label: gpt\n2048,20480,L\n40960,81920,L\n");
    ForeignTool.sh(dir, "printf XFSB | dd of=disk bs=1M seek=1 conv=notrunc status=none");
    ForeignTool.sh(
        dir, "printf 'LVM2 001' | dd of=disk bs=1 seek=20972056 conv=notrunc status=none");
    refused("partition 1: XFS, partition 2: an LVM volume, the whole disk: something unknown");
  }

  private void refused(String why) {
    assertThatThrownBy(() -> write("/x", ""))
        .isInstanceOf(BadImageException.class)
        .hasMessageContaining(why);
  }

  private void partition(String table) throws IOException {
    Files.writeString(dir.resolve("table"), table);
    ForeignTool.sh(dir, "sfdisk -q disk <table");
  }

  private void mke2fs(String tree, int offset, int size) throws IOException {
    ForeignTool.sh(
        dir, "mke2fs -qF -t ext4 -E offset=%d -d %s disk %dM".formatted(offset * MIB, tree, size));
  }

  private void write(String path, String content) throws IOException {
    try (FileChannel channel = FileChannel.open(disk, READ, WRITE)) {
      List<NewFile> files = List.of(file(path, content));
      ExtImage.apply(Ext4Files.write(ByteSource.of(channel), files, ExtImage.NOW), channel);
    }
  }

  private String cat(int offset, String path) throws IOException {
    return ForeignTool.sh(
        dir, "debugfs -R 'cat %s' 'disk?offset=%d'".formatted(path, offset * MIB));
  }

  private void assertClean(int offset) throws IOException {
    ForeignTool.run(dir, "e2fsck", "-fn", "disk?offset=" + offset * MIB);
  }
}
