package dev.platter.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.platter.image.BadImageException;
import dev.platter.image.qcow2.Qcow2Reader;
import dev.platter.image.raw.RawDisk;
import dev.platter.lab.Shell;
import dev.platter.model.PlatterException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Which files are taken for which disks; qemu-img and packers make them. */
class DiskFileTest {
  @TempDir Path work;
  private Path raw;

  @BeforeEach
  void makeADisk() throws IOException {
    raw = Files.write(work.resolve("disk"), new byte[1 << 20]);
  }

  private Path converted(String format) {
    var file = work.resolve("disk." + format);
    Shell.run("qemu-img", "convert", "-O", format, raw, file);
    return file;
  }

  @Test
  void theFirstBytesTellAQcow2FromARawDisk() throws IOException {
    try (var disk = DiskFile.open(raw, null)) {
      assertThat(disk.disk()).isInstanceOf(RawDisk.class);
    }
    try (var disk = DiskFile.open(converted("qcow2"), null)) {
      assertThat(disk.disk()).isInstanceOf(Qcow2Reader.class);
    }
    try (var disk = DiskFile.open(Files.write(work.resolve("tiny"), new byte[] {'Q', 'F'}), null)) {
      assertThat(disk.disk()).isInstanceOf(RawDisk.class);
    }
  }

  @Test
  void theUsersWordCountsMore() throws IOException {
    try (var disk = DiskFile.open(converted("qcow2"), DiskFile.Format.RAW)) {
      assertThat(disk.disk()).isInstanceOf(RawDisk.class);
    }
    assertThatThrownBy(() -> DiskFile.open(raw, DiskFile.Format.QCOW2))
        .isInstanceOf(BadImageException.class);
  }

  @ParameterizedTest
  @CsvSource({"vmdk, VMDK", "vhdx, VHDX", "vpc, VHD", "vdi, VDI", "qed, QED"})
  void otherFormatsAreNotTakenForRawDisks(String format, String name) throws IOException {
    assertThatThrownBy(() -> DiskFile.open(converted(format), null))
        .isInstanceOf(BadImageException.class)
        .hasMessageContaining("it is a " + name + "; ");
    DiskFile.open(work.resolve("disk." + format), DiskFile.Format.RAW).close();
  }

  @ParameterizedTest
  @CsvSource({"gzip, disk.gz", "xz, disk.xz", "zstd -q, disk.zst"})
  void packedFilesAreNotTakenForRawDisks(String packer, String file) {
    Shell.shell().in(work).check("sh", "-c", packer + " -k disk");
    assertThatThrownBy(() -> DiskFile.open(work.resolve(file), null))
        .hasMessageContaining("it is packed with " + packer.split(" ", -1)[0]);
  }

  @Test
  void aDiskThatIsWrittenToMeanwhileIsRefused() throws IOException {
    try (var disk = DiskFile.open(raw, null)) {
      disk.requireUnchanged();
      Files.write(raw, new byte[] {1}, StandardOpenOption.APPEND);
      assertThatThrownBy(disk::requireUnchanged)
          .isInstanceOf(PlatterException.class)
          .hasMessageContaining("was written to while it was packed");
    }
  }
}
