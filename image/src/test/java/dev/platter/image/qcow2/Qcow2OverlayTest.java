package dev.platter.image.qcow2;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.platter.image.qcow2.Qcow2Overlay.Backing;
import dev.platter.image.raw.SparseFile;
import dev.platter.image.testing.MixedBytes;
import dev.platter.image.testing.Qemu;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** QEMU takes our overlays for its own. */
class Qcow2OverlayTest {
  @TempDir Path dir;
  private Path overlay;
  private Path base;

  @BeforeEach
  void names() throws IOException {
    overlay = dir.resolve("overlay.qcow2");
    base = Files.write(dir.resolve("base.raw"), MixedBytes.of(3 << 20, 1));
  }

  @ParameterizedTest
  @ValueSource(
      longs = {
        512,
        1000,
        1L << 20,
        (1L << 20) + 1,
        100L << 20,
        1L << 29,
        (1L << 29) + 512,
        2L << 30,
        1L << 40,
        16L << 40,
        (16L << 40) - 512,
        64L << 40
      })
  void overlayOfAnySizeIsCleanAndSaysWhatItIs(long size) throws IOException {
    Qcow2Overlay.create(overlay, new Backing(base.toString(), "raw"), size);
    JsonNode info = info(overlay);
    assertThat(info.get("virtual-size").asLong()).isEqualTo((size + 511) / 512 * 512);
    assertThat(info.get("cluster-size").asInt()).isEqualTo(65536);
    assertThat(info.get("backing-filename").asText()).isEqualTo(base.toString());
    assertThat(info.get("backing-filename-format").asText()).isEqualTo("raw");
    assertThat(info.at("/format-specific/data/compat").asText()).isEqualTo("1.1");
    assertThat(info.at("/format-specific/data/corrupt").asBoolean()).isFalse();
    assertThat(Qemu.img("check", overlay)).contains("No errors were found");
    assertThat(Qemu.allocated(overlay)).isLessThanOrEqualTo(32 << 10);
  }

  @ParameterizedTest
  @ValueSource(longs = {512, 1000, 100L << 20, 16L << 40})
  void blankDiskIsCleanAndHasNoBackingFile(long size) throws IOException {
    Qcow2Overlay.create(overlay, size);
    assertThat(info(overlay).has("backing-filename")).isFalse();
    assertThat(Qemu.img("check", overlay)).contains("No errors were found");
    assertThat(Qcow2Reader.checkHeader(overlay, Limits.DEFAULT).virtualSize())
        .isEqualTo((size + 511) / 512 * 512);
  }

  @Test
  void overlayShowsItsBaseAndZerosPastItsEnd() throws IOException {
    Qcow2Overlay.create(overlay, new Backing("base.raw", "raw"), 8 << 20);
    Path flat = dir.resolve("flat.raw");
    Qemu.img("convert", "-f", "qcow2", "-O", "raw", overlay, flat);
    byte[] seen = Files.readAllBytes(flat);
    byte[] expected = Arrays.copyOf(Files.readAllBytes(base), 8 << 20);
    assertThat(Arrays.equals(seen, expected)).isTrue();
    Qemu.img("compare", "-f", "qcow2", "-F", "raw", overlay, base);
    Qemu.io(overlay, "qcow2", "read -P 0 3M 5M");
  }

  @Test
  void writesGoToTheOverlayAndLeaveTheBaseAlone() throws IOException {
    byte[] before = Files.readAllBytes(base);
    Qcow2Overlay.create(overlay, new Backing(base.toString(), "raw"), 2L << 40);
    Qemu.io(
        overlay,
        "qcow2",
        "write -P 5 100k 200k",
        "write -P 6 1T 1M",
        "read -P 5 100k 200k",
        "read -P 6 1T 1M");
    assertThat(Files.readAllBytes(base)).isEqualTo(before);
    assertThat(Qemu.img("check", overlay)).contains("No errors were found");
  }

  @Test
  void whatQemuWritesIntoABlankDiskOurReaderReads() throws IOException {
    Qcow2Overlay.create(overlay, (20 << 20) - 512);
    Qemu.io(overlay, "qcow2", "write -P 1 0 1M", "write -c -P 2 2M 1M", "write -P 3 20970496 512");
    SameAsQemu.check(overlay);
  }

  @Test
  void backingPathMayHave1023BytesInAnyScript() throws IOException {
    String deep = (dir + "/" + "zażółć-磁盘/".repeat(80)).substring(0, 600);
    while (bytes(deep) < 1023) {
      deep += "x";
    }
    while (bytes(deep) > 1023) {
      deep = deep.substring(0, deep.length() - 1);
    }
    while (bytes(deep) < 1023) {
      deep += "x";
    }
    Qcow2Overlay.create(overlay, new Backing(deep, "raw"), 1 << 20);
    assertThat(info(overlay).get("backing-filename").asText()).isEqualTo(deep);
    String longer = deep + "x";
    assertThatThrownBy(() -> new Backing(longer, "raw"))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("backing path of 1024 bytes");
  }

  private static int bytes(String s) {
    return s.getBytes(StandardCharsets.UTF_8).length;
  }

  @Test
  void namesThatCannotBeWrittenAreRefused() {
    assertThatThrownBy(() -> new Backing("", "raw")).hasMessageContaining("backing path");
    assertThatThrownBy(() -> new Backing("a\0b", "raw")).hasMessageContaining("no NUL");
    assertThatThrownBy(() -> new Backing("\ud800", "raw")).hasMessageContaining("UTF-8");
    assertThatThrownBy(() -> new Backing("a", "sixteen-letters!")).hasMessageContaining("format");
  }

  @ParameterizedTest
  @ValueSource(longs = {-1, 0, Long.MAX_VALUE})
  void impossibleSizesAreRefused(long size) {
    assertThatThrownBy(() -> Qcow2Overlay.create(overlay, size))
        .isInstanceOf(IllegalArgumentException.class);
    assertThat(overlay).doesNotExist();
  }

  @Test
  void aNameThatExistsIsLeftAlone() throws IOException {
    Files.writeString(overlay, "mine");
    assertThatThrownBy(() -> Qcow2Overlay.create(overlay, 1 << 20))
        .isInstanceOf(FileAlreadyExistsException.class);
    assertThat(overlay).hasContent("mine");
  }

  @Test
  void aSparseBaseOfATebibyteIsNoTrouble() throws IOException {
    Path large = dir.resolve("large.raw");
    SparseFile.create(large, 1L << 40);
    Qcow2Overlay.create(overlay, new Backing(large.toString(), "raw"), 1L << 40);
    Qemu.img("compare", "-f", "qcow2", "-F", "raw", overlay, large);
  }

  private static JsonNode info(Path image) throws IOException {
    return new ObjectMapper().readTree(Qemu.img("info", "--output=json", "-f", "qcow2", image));
  }
}
