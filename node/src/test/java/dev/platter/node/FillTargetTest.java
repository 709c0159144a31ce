package dev.platter.node;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.platter.image.Digest;
import dev.platter.image.fill.Filled;
import dev.platter.image.fill.Format;
import dev.platter.lab.LoopDevice;
import dev.platter.lab.Shell;
import dev.platter.model.Access;
import dev.platter.plan.FillRecord;
import dev.platter.plan.SourceName;
import dev.platter.plan.StateLayout;
import dev.platter.plan.VmKey;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** From its opening to its end a target belongs to nobody else. */
class FillTargetTest {
  private static final Filled FILLED = new Filled(Format.RAW, 1, 1, Digest.of(new byte[1]));

  @TempDir Path dir;
  private StateLayout layout;

  @BeforeEach
  void makeLayout() {
    layout = new StateLayout(dir.resolve("state"), dir.resolve("run"));
  }

  private FillTarget open(Path path, boolean replace) throws IOException {
    return FillTarget.of(layout, path, null, 0, replace, false);
  }

  @Test
  void aVmDoesNotGetAVolumeThatWaitsForItsDisk() throws IOException {
    var volume = Files.createDirectory(dir.resolve("volume"));
    var link = Files.createSymbolicLink(dir.resolve("link"), volume);
    var source = new SourceName("file:" + StateLayout.diskImg(link), List.of());
    var leases = new Leases(layout, _ -> true);
    var vm = new VmKey("default", "a");
    try (var _ = open(volume, false)) {
      assertThatThrownBy(() -> leases.take(vm, source, Access.WRITE_EXCLUSIVE))
          .hasMessageContaining("another process fills");
      assertThatThrownBy(() -> open(link, false)).hasMessageContaining("another process fills");
    }
    leases.take(vm, source, Access.WRITE_EXCLUSIVE);
  }

  @Test
  void nobodyMakesAFileSystemOnADeviceThatWaitsForItsDisk() throws IOException {
    assumeTrue(LoopDevice.isPossible(), "no loop devices: not root, or no driver");
    var file = dir.resolve("device");
    Shell.run("truncate", "-s", "8M", file);
    try (var device = LoopDevice.attach(file)) {
      try (var _ = open(device.path(), false)) {
        var made = Shell.shell().execute("mke2fs", "-q", device.path());
        assertThat(made.status()).isNotZero();
      }
      Shell.run("mke2fs", "-q", device.path());
    }
  }

  /** As when the upload server has waited for hours. */
  @Test
  void whatSomebodyWroteMeanwhileIsLeftAlone() throws IOException {
    var volume = Files.createDirectory(dir.resolve("volume"));
    try (var target = open(volume, false)) {
      assertThat(target.held("upload", Optional.empty())).isEmpty();
      Files.writeString(StateLayout.diskImg(volume), "somebody else's");
      assertThatThrownBy(() -> target.begin("upload")).hasMessageContaining("holds bytes");
    }
  }

  @Test
  void theWordsThatWereFollowedStay() throws IOException {
    var volume = Files.createDirectory(dir.resolve("volume"));
    var record = StateLayout.diskImgRecord(volume);
    try (var target = open(volume, false)) {
      target.begin("a");
      target.complete(FILLED);
    }
    var first = FillRecord.parse(Files.readString(record)).orElseThrow();
    var followed =
        new FillRecord(first.image(), first.digest(), first.refillWith("x"), first.disk(), true);
    Files.writeString(record, followed.text());
    try (var target = open(volume, true)) {
      target.begin("b");
      target.complete(FILLED);
    }
    assertThat(FillRecord.parse(Files.readString(record)).orElseThrow().followed("x")).isTrue();
  }

  @Test
  void aNewFileIsOneProcesssAndReplacesNothing() throws IOException {
    var file = dir.resolve("out.raw");
    try (var target = open(file, false)) {
      assertThatThrownBy(() -> open(file, false)).hasMessageContaining("another process fills");
      target.open(null, Optional.empty(), _ -> {}).close();
      Files.writeString(file, "appeared");
      assertThatThrownBy(() -> target.complete(FILLED)).hasMessageContaining("there is a file");
    }
    assertThat(file).hasContent("appeared");
    assertThat(dir.resolve(".out.raw.part")).doesNotExist();
  }
}
