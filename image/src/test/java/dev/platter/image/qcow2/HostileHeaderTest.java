package dev.platter.image.qcow2;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.platter.image.BadImageException;
import dev.platter.image.testing.Qemu;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * What the header alone gives away is refused by the header check, before anything else is read.
 */
class HostileHeaderTest {
  @TempDir Path dir;
  private ImageBytes image;

  @BeforeEach
  void valid() throws IOException {
    image = ImageBytes.make(dir, "cluster_size=4k");
    assertThat(image.refusal()).isNull();
  }

  @ParameterizedTest(name = "{3}")
  @CsvSource(
      delimiter = '|',
      value = {
        // field | width | value | refusal
        "0   | 4 | 0x51464900          | byte 0x0: the magic is 0x51464900",
        "4   | 4 | 1                   | byte 0x4: version 1, only 2 and 3",
        "4   | 4 | 4                   | byte 0x4: version 4, only 2 and 3",
        "8   | 8 | 0x200               | byte 0x8: it has a backing file",
        "16  | 4 | 5                   | byte 0x8: it has a backing file",
        "20  | 4 | 8                   | byte 0x14: cluster bits 8",
        "20  | 4 | 22                  | byte 0x14: cluster bits 22",
        "20  | 4 | 0xfffffff0          | byte 0x14: cluster bits 4294967280",
        "24  | 8 | 0x7fffffffffffffff  | byte 0x18: virtual size 9223372036854775807 is over",
        "24  | 8 | 0xffffffffffffffff  | byte 0x18: virtual size 18446744073709551615 is over",
        "24  | 8 | 0x100001            | byte 0x18: virtual size 1048577 is not a multiple of 512",
        "24  | 8 | 0x10000000          | byte 0x24: the L1 table has 1 entries, the disk needs 128",
        "32  | 4 | 1                   | byte 0x20: it is encrypted (method 1)",
        "32  | 4 | 2                   | byte 0x20: it is encrypted (method 2)",
        "36  | 4 | 0                   | byte 0x24: the L1 table has 0 entries, the disk needs 1",
        "36  | 4 | 0x00400001          | byte 0x24: an L1 table of 33554440 bytes",
        "36  | 4 | 0xffffffff          | byte 0x24: an L1 table of 34359738360 bytes",
        "36  | 4 | 0x00400000          | byte 0x28: L1 table of 33554432 bytes at",
        "40  | 8 | 0x3001              | byte 0x28: L1 table offset 0x3001 is not aligned",
        "40  | 8 | 0                   | byte 0x28: L1 table overlaps the header",
        "40  | 8 | 0x7ffffffffffff000  | byte 0x28: L1 table of 8 bytes at 0x7ffffffffffff000 is out",
        "40  | 8 | 0xfffffffffffff000  | byte 0x28: L1 table of 8 bytes at 0xfffffffffffff000 is out",
        "40  | 8 | 0x1000              | byte 0x28: L1 table and refcount table overlap",
        "48  | 8 | 0x10                | byte 0x30: refcount table offset 0x10 is not aligned",
        "48  | 8 | 0                   | byte 0x30: refcount table overlaps the header",
        "48  | 8 | 0x100000000         | byte 0x30: refcount table of 4096 bytes at 0x100000000 is",
        "56  | 4 | 0                   | byte 0x38: a refcount table of 0 bytes",
        "56  | 4 | 0xffffffff          | byte 0x38: a refcount table of 17592186040320 bytes",
        "60  | 4 | 65537               | byte 0x3c: 65537 snapshots",
        "60  | 4 | 1                   | byte 0x40: snapshot table overlaps the header",
        "72  | 8 | 2                   | byte 0x48: it is marked corrupt",
        "72  | 8 | 4                   | byte 0x48: it keeps its data in another file",
        "72  | 8 | 8                   | byte 0x68: compression type and compression feature bit",
        "72  | 8 | 16                  | byte 0x14: extended L2 entries need clusters of 16 KiB",
        "72  | 8 | 32                  | byte 0x48: unknown incompatible features 0x20",
        "72  | 8 | 0x8000000000000000  | unknown incompatible features 0x8000000000000000",
        "96  | 4 | 7                   | byte 0x60: refcounts of 2^7 bits",
        "100 | 4 | 96                  | byte 0x64: header length 96 is impossible",
        "100 | 4 | 108                 | byte 0x64: header length 108 is impossible",
        "100 | 4 | 4104                | byte 0x64: header length 4104 is impossible",
        "104 | 1 | 1                   | byte 0x68: compression type and compression feature bit",
        "104 | 1 | 2                   | byte 0x68: unknown compression type 2",
        "112 | 4 | 0x44415441          | byte 0x70: it names a data file",
        "112 | 8 | 0x12345678fffffff0  | byte 0x70: a header extension of 4294967280 bytes leaves",
      })
  void headerFieldIsRefused(int field, int width, String value, String refusal) throws IOException {
    long number = Long.parseUnsignedLong(value.replace("0x", ""), value.startsWith("0x") ? 16 : 10);
    switch (width) {
      case 1 -> image.bytes.put(field, (byte) number);
      case 4 -> image.bytes.putInt(field, (int) number);
      default -> image.bytes.putLong(field, number);
    }
    assertThat(image.refusal()).contains(refusal);
    Path file = Files.write(dir.resolve("hostile.qcow2"), image.bytes.array());
    assertThatThrownBy(() -> Qcow2Reader.checkHeader(file, Limits.DEFAULT))
        .isInstanceOf(BadImageException.class)
        .hasMessageContaining(refusal);
  }

  @Test
  void unknownCompatibleAndAutoclearFeaturesAreIgnored() throws IOException {
    assertThat(image.putLong(80, -1).putLong(88, -1).refusal()).isNull();
  }

  @Test
  void unknownHeaderExtensionIsIgnored() throws IOException {
    assertThat(image.putInt(112, 0x12345678).refusal()).isNull();
  }

  @Test
  void fileThatEndsInsideTheHeaderIsRefused() throws IOException {
    Path file = dir.resolve("short.qcow2");
    for (int length : new int[] {0, 3, 71, 80, 103, 111}) {
      Files.write(file, Arrays.copyOf(image.bytes.array(), length));
      assertThatThrownBy(() -> Qcow2Reader.checkHeader(file, Limits.DEFAULT))
          .as("%d bytes", length)
          .isInstanceOf(BadImageException.class);
    }
  }

  @Test
  void diskOverTheLimitIsRefused() {
    assertThatThrownBy(() -> image.read(new Limits((1 << 20) - 512, 1000)))
        .isInstanceOf(BadImageException.class)
        .hasMessageContaining("virtual size 1048576 is over the limit of 1048064");
  }

  @Test
  void fileOfTooManyClustersIsRefused() {
    assertThatThrownBy(() -> image.read(new Limits(1 << 20, 4)))
        .isInstanceOf(BadImageException.class)
        .hasMessageContaining("in clusters of 4096 is over the limit of 4 clusters");
  }

  @Test
  void imageThatQemuGaveABackingFileIsRefused() throws IOException {
    Path overlay = dir.resolve("overlay.qcow2");
    Path base = Files.write(dir.resolve("base.raw"), new byte[1 << 20]);
    Qemu.img("create", "-f", "qcow2", "-b", base, "-F", "raw", overlay);
    assertThatThrownBy(() -> Qcow2Reader.checkHeader(overlay, Limits.DEFAULT))
        .hasMessageContaining("backing file");
  }

  @Test
  void imageThatQemuGaveADataFileIsRefused() {
    Path disk = dir.resolve("disk.qcow2");
    Qemu.img("create", "-f", "qcow2", "-o", "data_file=" + dir.resolve("data"), disk, "1M");
    assertThatThrownBy(() -> Qcow2Reader.checkHeader(disk, Limits.DEFAULT))
        .hasMessageContaining("keeps its data in another file");
  }

  @Test
  void imageThatQemuEncryptedIsRefused() {
    Path disk = dir.resolve("disk.qcow2");
    // Not luks: making one measures CPU time first, and fails where that is coarse.
    String options = "encrypt.format=aes,encrypt.key-secret=k";
    Qemu.img("create", "--object", "secret,id=k,data=x", "-f", "qcow2", "-o", options, disk, "1M");
    assertThatThrownBy(() -> Qcow2Reader.checkHeader(disk, Limits.DEFAULT))
        .hasMessageContaining("it is encrypted (method 1)");
  }
}
