package dev.platter.node;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.platter.lab.LoopDevice;
import dev.platter.lab.LoopMount;
import dev.platter.lab.Shell;
import dev.platter.model.PlatterException;
import dev.platter.model.PlatterException.Code;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class RawDevicesTest {
  @TempDir Path work;

  /** A directory below /dev in which everybody may make files and links. */
  private Path shared = Path.of("/");

  @BeforeEach
  void makeShared() throws IOException {
    shared = Files.createTempDirectory(Path.of("/dev/shm"), "platter-");
  }

  @AfterEach
  void removeShared() {
    Shell.run("rm", "-r", shared);
  }

  private static LocalDisks disks(String patterns) {
    return new LocalDisks(RawDevices.parse(patterns), Progress.NONE);
  }

  private static PlatterException refusal(String patterns, String path) {
    return catchThrowableOfType(
        PlatterException.class, () -> disks(patterns).openDevice(path, true).close());
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "loop*|/dev/loopless",
        "loop?x|/dev/loop7x",
        "sd[x-z]9999|/dev/sdy9999",
        "vd*, mapper/none-*|/dev/mapper/none-such",
        "disk/*/none*|/dev/disk/by-id/none",
      })
  void aNameOnTheListIsLookedFor(String patterns, String path) {
    var refused = refusal(patterns, path);
    assertThat(refused).hasMessage("there is no device " + path);
    assertThat(refused.code()).isEqualTo(Code.NOT_FOUND);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "loop*|/dev/sdb",
        "loop*|/dev/loop/0",
        "loop*|/dev/Loop0",
        "*|/dev/mapper/x",
        "*/x|/dev/a/b/x",
        "mapper/?|/dev/mapper/xy",
        "loop|/dev/loop0",
        "loop0|/dev/xloop0",
        "sd[!b]|/dev/sdb",
      })
  void aNameThatIsNotOnTheListIsRefusedWithTheListAndTheWayToChangeIt(
      String patterns, String path) {
    var refused = refusal(patterns, path);
    assertThat(refused)
        .hasMessage(
            path
                + " is not on the list of devices that this machine gives to VMs (%s)"
                    .formatted(patterns));
    assertThat(refused.next()).contains("--raw-devices", "VIRTLET_RAW_DEVICES", "/dev");
    assertThat(refused.code()).isEqualTo(Code.REFUSED);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "/dev",
        "/dev/",
        "/",
        "",
        "loop0",
        "dev/loop0",
        "/devloop0",
        "//dev/loop0",
        "/dev//loop0",
        "/dev/loop0/",
        "/dev/./loop0",
        "/dev/shm/../loop0",
        "/dev/../dev/loop0",
        "/dev/../etc/passwd",
        "/dev/..",
        "/etc/passwd",
        "/proc/self/root/dev/loop0",
      })
  void whatIsNotAPlainPathBelowDevIsRefusedWhateverTheList(String path) {
    for (var patterns : new String[] {"loop*", "*", "*,*/*,*/*/*"}) {
      var refused = refusal(patterns, path);
      assertThat(refused)
          .hasMessageStartingWith(path + " is not the plain path of a device below /dev");
      assertThat(refused.code()).isEqualTo(Code.REFUSED);
    }
  }

  @Test
  void aPathThatNoFileCanHaveIsRefused() {
    assertThat(refusal("loop*", "/dev/loop0\0x").code()).isEqualTo(Code.INVALID);
    assertThat(refusal("loop*", "/dev/loop0\n").code()).isEqualTo(Code.NOT_FOUND);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "null|/dev/null|a character device",
        "shm|/dev/shm|a directory",
      })
  void whatIsOnTheListButNoBlockDeviceIsRefused(String patterns, String path, String kind) {
    assertThat(refusal(patterns, path))
        .hasMessage(path + " is " + kind + " and not a block device");
  }

  @Test
  void filesAndLinksThatAnybodyMayMakeBelowDevAreRefused() throws IOException {
    var anything = "loop*,null,shm/*/*";
    var file = Files.writeString(shared.resolve("file"), "text");
    assertThat(refusal(anything, file.toString())).hasMessageContaining("is a regular file");
    Shell.run("mkfifo", shared.resolve("fifo"));
    assertThat(refusal(anything, shared + "/fifo")).hasMessageContaining("is a FIFO");
    var out = Files.createSymbolicLink(shared.resolve("out"), work);
    assertThat(refusal(anything, out.toString()))
        .hasMessageStartingWith(out + " is a link to " + work + ", which is not on the list");
    Files.createSymbolicLink(shared.resolve("dir"), Path.of("/dev"));
    assertThat(refusal("zero,shm/*/*/zero", shared + "/dir/zero"))
        .hasMessageContaining("is a character device");
    assertThat(refusal("null,shm/*/*/zero", shared + "/dir/zero"))
        .hasMessageContaining("is a link to /dev/zero, which is not on the list");
    var loop = Files.createSymbolicLink(shared.resolve("loop"), shared.resolve("loop"));
    assertThat(
            catchThrowableOfType(
                IOException.class, () -> disks(anything).openDevice("" + loop, true)))
        .isNotNull();
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '~',
      value = {
        "~~|a pattern is empty",
        "loop*,,sdb|a pattern is empty",
        "loop*,|a pattern is empty",
        "/dev/sdb|'/dev/sdb' is absolute; leave the /dev/ out",
        "../sdb|'../sdb' has an empty part, or one that is . or ..",
        "mapper/../sdb|'mapper/../sdb' has an empty part, or one that is . or ..",
        "./sdb|'./sdb' has an empty part, or one that is . or ..",
        "mapper//x|'mapper//x' has an empty part, or one that is . or ..",
        "mapper/|'mapper/' has an empty part, or one that is . or ..",
        "**|'**' has more than *, ? and [...] in it",
        "{loop0}|'{loop0}' has more than *, ? and [...] in it",
        "loop\\*|'loop\\*' has more than *, ? and [...] in it",
      })
  void aPatternThatIsNoneIsRefused(String patterns, String why) {
    var refused = catchThrowableOfType(PlatterException.class, () -> RawDevices.parse(patterns));
    assertThat(refused.details()).containsExactly(why);
    assertThat(refused.code()).isEqualTo(Code.INVALID);
  }

  @Test
  void allProblemsOfAListAreOneError() {
    var refused =
        catchThrowableOfType(PlatterException.class, () -> RawDevices.parse("/a,b,..,[c"));
    assertThat(refused.details()).hasSize(3);
    assertThat(refused.details().getLast()).startsWith("'[c' is no pattern: ");
    assertThat(refused).hasMessageContaining("'/a,b,..,[c'");
  }

  @Test
  void aLoopDeviceIsGivenByItsOwnNameAndByALinkIfBothAreOnTheList() throws IOException {
    assumeTrue(LoopDevice.isPossible(), "no loop devices: not root, or no driver");
    var file = work.resolve("device.raw");
    Shell.run("truncate", "-s", "1M", file);
    try (var device = LoopDevice.attach(file)) {
      var own = device.path().toString();
      var link = Files.createSymbolicLink(shared.resolve("link"), device.path()).toString();
      try (var byName = new LocalDisks(RawDevices.DEFAULT, Progress.NONE).openDevice(own, true);
          var byLink = disks("loop*,shm/platter-*/link").openDevice(link, true)) {
        assertThat(byName.isBlockDevice()).isTrue();
        assertThat(byLink.identity()).isEqualTo(byName.identity());
      }
      assertThat(refusal("loop*", link)).hasMessageStartingWith(link + " is not on the list");
      assertThat(refusal("shm/*/*", link))
          .hasMessageStartingWith(link + " is a link to " + own + ", which is not on the list");
      assertThat(refusal("shm/*/*", own)).hasMessageStartingWith(own + " is not on the list");
      // What an administrator put into a volume needs no list.
      disks("none").openDevice(link, false).close();
    }
  }

  @Test
  void aDeviceThatTheMachineHasMountedIsRefused() throws Exception {
    assumeTrue(LoopMount.Type.EXT4.isPossible(), "no ext4 on loop devices here");
    try (var mount = LoopMount.make(work, LoopMount.Type.EXT4, 16 << 20)) {
      var device = Shell.run("findmnt", "-no", "SOURCE", mount.path()).strip();
      assertThat(refusal("loop*", device)).hasMessageContaining("in use by this machine itself");
    }
  }

  @Test
  void whatWasCheckedIsWhatIsCopied() throws IOException {
    assumeTrue(LoopDevice.isPossible(), "no loop devices: not root, or no driver");
    var ours = work.resolve("ours");
    var others = work.resolve("others");
    Shell.run("sh", "-c", "yes ours | head -c 1048576 > " + ours);
    Shell.run("sh", "-c", "yes others | head -c 1048576 > " + others);
    try (var first = LoopDevice.attach(ours);
        var second = LoopDevice.attach(others)) {
      var link = Files.createSymbolicLink(shared.resolve("link"), first.path());
      var disks = disks("loop*,shm/*/*");
      try (var held = disks.openDevice(link.toString(), true)) {
        Shell.run("ln", "-sfn", second.path(), link);
        disks.copyDevice(held, work.resolve("copy"));
      }
      Shell.run("cmp", ours, work.resolve("copy"));
    }
  }
}
