package dev.platter.node;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.catchThrowableOfType;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.platter.lab.LoopMount;
import dev.platter.lab.Shell;
import dev.platter.model.PlatterException;
import dev.platter.model.PlatterException.Code;
import dev.platter.plan.Step;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

/** Volumes in which somebody else was before. */
class DiskImgTest {
  private static final long MIB = 1 << 20;

  @TempDir Path work;
  private Path root = Path.of("/");
  private Path img = Path.of("/");

  @BeforeEach
  void makeVolume() throws IOException {
    root = Files.createDirectory(work.resolve("volume"));
    img = root.resolve("disk.img");
  }

  private Step.MakeDiskImg make(long claim) {
    return new Step.MakeDiskImg(root.toString(), root.resolve(".unfinished").toString(), claim);
  }

  private Step.CheckDiskImg check(Long claim) {
    return new Step.CheckDiskImg(root.toString(), claim);
  }

  private String stat(String format) {
    return Shell.run("stat", "-c", format, img).strip();
  }

  @ParameterizedTest
  @CsvSource({
    "2097152,1048576", // a twentieth is kept, and the rest is cut to whole mebibytes
    "104857600,99614720",
    "10737418240,10670309376", // 64 MiB are kept
    "10737418241,10670309376"
  })
  void aMissingDiskIsMadeSparseAndALittleSmallerThanItsClaim(long claim, long size)
      throws IOException {
    DiskImg.make(make(claim));
    DiskImg.check(check(claim));
    assertThat(stat("%s %a %h")).isEqualTo(size + " 600 1");
    assertThat(Long.parseLong(stat("%b")) * 512).as("allocated").isLessThan(MIB);
    assertThat(root).isDirectoryContaining(path -> path.equals(img));
    assertThat(Files.list(root)).hasSize(1);
  }

  @Test
  void aClaimTooSmallForADiskIsRefusedAndNothingIsLeft() {
    var refused = catchThrowableOfType(PlatterException.class, () -> DiskImg.make(make(MIB)));
    assertThat(refused).hasMessageContaining("leaves no room for a disk");
    assertThat(root).isEmptyDirectory();
  }

  @Test
  void aDiskThatIsThereKeepsItsBytesItsModeAndItsOwner() throws IOException {
    Shell.run("sh", "-c", "yes | head -c 3145728 > " + img + "; chmod 640 " + img);
    var before = stat("%s %a %u %g %i") + Shell.run("sha256sum", img);
    DiskImg.make(make(3 * MIB));
    DiskImg.check(check(3 * MIB));
    assertThat(stat("%s %a %u %g %i") + Shell.run("sha256sum", img)).isEqualTo(before);
  }

  @Test
  void aLargerClaimGrowsTheDiskAndASmallerOneNeverCutsIt() throws IOException {
    Shell.run("sh", "-c", "yes | head -c 3145728 > " + img);
    var content = Shell.run("sha256sum", img);
    DiskImg.check(check(100 * MIB));
    assertThat(stat("%s %h")).isEqualTo(95 * MIB + " 1");
    assertThat(Shell.run("sh", "-c", "head -c 3145728 " + img + " | sha256sum"))
        .isEqualTo(content.replace(img.toString(), "-"));
    DiskImg.check(check(10 * MIB));
    DiskImg.check(check(null));
    assertThat(stat("%s")).isEqualTo("" + 95 * MIB);
  }

  @ParameterizedTest
  @EnumSource
  void allOfADiskFitsIntoItsFileSystem(LoopMount.Type type) throws Exception {
    assumeTrue(type.isPossible(), () -> "no " + type + " on loop devices here");
    try (var mount = LoopMount.make(work, type, 320 * MIB)) {
      root = mount.path();
      img = root.resolve("disk.img");
      DiskImg.make(make(1024 * MIB));
      var size = stat("%s");
      assertThat(Long.parseLong(size)).isBetween(200 * MIB, 310 * MIB);
      Shell.run(
          "sh", "-c", "yes | dd bs=1M iflag=fullblock conv=notrunc of=%s count=100".formatted(img));
      DiskImg.check(check(1024 * MIB));
      assertThat(stat("%s")).as("what it holds does not make it smaller or larger").isEqualTo(size);
      Shell.run(
          "sh", "-c", "yes | head -c %s | dd bs=1M conv=notrunc,fsync of=%s".formatted(size, img));
    }
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "ln -s ../outside disk.img|is a symbolic link",
        "ln -s ../missing disk.img|is a symbolic link",
        "mv ../outside hidden; ln -s hidden disk.img; cp hidden ../outside|is a symbolic link",
        "mkfifo disk.img|is a FIFO",
        "mkdir disk.img|is a directory",
        "cp ../outside disk.img; ln disk.img second|has 2 names (hard links)",
        "ln ../outside disk.img|has 2 names (hard links)",
        "mknod disk.img b 7 0|is a block device",
        "mknod disk.img c 1 3|is a character device",
      })
  void whatIsNotAPlainFileIsRefused(String prepare, String why) throws IOException {
    var outside = Files.writeString(work.resolve("outside"), "somebody else's");
    assumeTrue(
        !prepare.startsWith("mknod") || "root".equals(System.getProperty("user.name")), "not root");
    Shell.run("sh", "-ec", "cd " + root + "; " + prepare);
    for (var attempt :
        new Attempt[] {
          () -> {
            DiskImg.make(make(100 * MIB));
            DiskImg.check(check(100 * MIB));
          },
          () -> DiskImg.check(check(null)),
          () -> DiskImg.expect(check(null))
        }) {
      var refused = catchThrowableOfType(PlatterException.class, attempt::run);
      assertThat(refused).hasMessage(img + " " + why);
      assertThat(refused.code()).isEqualTo(Code.REFUSED);
    }
    assertThat(outside).hasContent("somebody else's");
    assertThat(work.resolve("missing")).doesNotExist();
  }

  private interface Attempt {
    void run() throws IOException;
  }

  @Test
  void anEmptyDiskIsRefusedOnlyWhereItIsNotGrown() throws IOException {
    Files.createFile(img);
    assertThat(catchThrowableOfType(PlatterException.class, () -> DiskImg.check(check(null))))
        .hasMessageContaining("is empty");
    DiskImg.check(check(2 * MIB));
    assertThat(stat("%s")).isEqualTo("" + MIB);
  }

  @Test
  void aMissingDiskIsNotMadeToBeRead() {
    var refused = catchThrowableOfType(PlatterException.class, () -> DiskImg.check(check(null)));
    assertThat(refused.code()).isEqualTo(Code.NOT_FOUND);
    assertThat(refused).hasMessageContaining("no disk.img in the volume at " + root);
    assertThat(root).isEmptyDirectory();
  }

  @Test
  void aRootThatIsNoDirectoryIsRefused() throws IOException {
    Files.delete(root);
    assertThat(catchThrowableOfType(PlatterException.class, () -> DiskImg.make(make(2 * MIB))))
        .hasMessage("there is no directory " + root);
    Files.createFile(root);
    assertThat(catchThrowableOfType(PlatterException.class, () -> DiskImg.make(make(2 * MIB))))
        .hasMessage(root + " is not a directory");
  }

  @ParameterizedTest
  @CsvSource({"false", "true"})
  void afterAKillInTheMiddleUndoingLeavesNothingUnfinished(boolean named) throws IOException {
    var step = make(2 * MIB);
    Shell.run("truncate", "-s", "1M", step.unfinished());
    if (named) {
      Files.createLink(img, Path.of(step.unfinished()));
    }
    DiskImg.unmake(step);
    DiskImg.unmake(step);
    assertThat(Files.exists(img)).isEqualTo(named);
    assertThatCode(() -> DiskImg.make(step)).doesNotThrowAnyException();
    assertThatCode(() -> DiskImg.check(check(2 * MIB))).doesNotThrowAnyException();
  }
}
