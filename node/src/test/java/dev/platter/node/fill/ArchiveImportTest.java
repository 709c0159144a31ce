package dev.platter.node.fill;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.platter.image.Digest;
import dev.platter.image.fill.Format;
import dev.platter.lab.Shell;
import dev.platter.model.PlatterException;
import dev.platter.node.NodeConfig;
import dev.platter.node.Progress;
import dev.platter.plan.FillRecord;
import dev.platter.plan.StateLayout;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Archives become the files of volumes: GNU tar makes and unpacks them, too, and judges. */
class ArchiveImportTest {
  @TempDir Path dir;
  private Path volume;
  private Path files;

  @BeforeEach
  void make() throws IOException {
    volume = Files.createDirectory(dir.resolve("volume"));
    files = Files.createDirectory(dir.resolve("files"));
  }

  private void sh(String script) {
    Shell.run("sh", "-ec", "cd " + dir + "\n" + script);
  }

  /** All that an archive can have and a volume keeps, with names that are not easy. */
  private void makeTree() {
    var name = "n".repeat(120);
    sh(
        """
        cd files
        mkdir -p a/b/c 'with space' %s/%s empty
        head -c 300000 /dev/urandom > a/large
        truncate -s 5M a/hole; printf x | dd of=a/hole bs=1 seek=2000000 conv=notrunc status=none
        echo hello > a/b/c/small; : > a/none; echo ü > 'with space/ü — ☃'
        echo long > %1$s/%2$s/file
        ln -s ../../../../etc/passwd a/out; ln -s /etc a/b/absolute; ln -s small a/b/c/link
        ln a/b/c/small hard; ln a/b/c/link 'hard link of a link'
        chmod 0751 a; chmod 0555 a/b/c; chmod 0400 a/large; chmod 0777 empty; chmod 04755 a/none
        touch -d '2001-02-03 04:05:06.789' a/b/c/small a/b empty; touch -h -d '2002-03-04' a/out
        """
            .formatted(name, "m".repeat(200)));
  }

  private DiskImport.Done bring(Path archive) throws IOException {
    return bring(archive, volume, 0, false, Optional.empty());
  }

  private DiskImport.Done bring(
      Path archive, Path target, long size, boolean replace, Optional<Digest> digest)
      throws IOException {
    var layout = new StateLayout(dir.resolve("state"), dir.resolve("run"));
    return new DiskImport(archive.toString(), target, digest, Format.TAR, size, replace)
        .run(new NodeConfig(layout, Optional.empty(), Optional.empty()), Progress.NONE);
  }

  private Optional<FillRecord> record() throws IOException {
    var file = volume.resolve("disk.img.json");
    return Files.exists(file) ? FillRecord.parse(Files.readString(file)) : Optional.empty();
  }

  /** By content, and by kind, mode, links, time and target of each name. */
  private void assertIsAsTarMakesIt(Path archive) throws IOException {
    sh(
        """
        chmod -R u+w expected 2>/dev/null || :; rm -rf expected; mkdir expected
        tar -x --no-same-owner -p -f %s -C expected
        diff -r --no-dereference expected volume --exclude=disk.img.json
        """
            .formatted(archive));
    assertThat(Shell.run("find", volume, "-perm", "/7000")).as("setuid is not kept").isEmpty();
    assertThat(listed(volume)).isEqualTo(listed(dir.resolve("expected")));
    assertThat(record().orElseThrow().complete()).isTrue();
    assertThat(volume.resolve("disk.img.names")).doesNotExist();
  }

  private static String listed(Path root) {
    var list =
        "find . -mindepth 1 ! -name disk.img.json ! -type l -printf '%P %y %n %s %T@ ' -exec stat -c %A {} \\;";
    var links = "find . -type l -printf '%P %y %n %T@ %l\\n'";
    // Setuid is not kept.
    return Shell.run("sh", "-c", "cd %s; { %s; %s; } | tr s x | sort".formatted(root, list, links));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "--format=gnu",
        "--format=pax",
        "--format=ustar",
        "--format=v7",
        "-z",
        "-J",
        "--zstd"
      })
  void anArchiveIsUnpackedAsTarDoesIt(String option) throws IOException {
    makeTree();
    if (option.equals("--format=v7") || option.equals("--format=ustar")) {
      sh("rm -r files/nnn*; rm files/'with space'/*"); // names that these cannot have
    }
    sh("tar -c %s -f x.tar -C files .".formatted(option));
    var done = bring(dir.resolve("x.tar"));
    assertIsAsTarMakesIt(dir.resolve("x.tar"));
    assertThat(done.digest())
        .isEqualTo("sha256:" + Shell.run("sha256sum", dir.resolve("x.tar")).split(" ")[0]);
    assertThat(bring(dir.resolve("x.tar")).already()).isTrue();
  }

  @Test
  void zerosBecomeHoles() throws IOException {
    sh("truncate -s 64M files/disk.img; echo x | dd of=files/disk.img conv=notrunc status=none");
    sh("tar -czf x.tgz -C files .");
    bring(dir.resolve("x.tgz"));
    assertIsAsTarMakesIt(dir.resolve("x.tgz"));
    assertThat(Long.parseLong(Shell.run("stat", "-c", "%b", volume.resolve("disk.img")).strip()))
        .isLessThan(1000);
  }

  @Test
  void whatComesLaterWinsButADirectoryStaysOne() throws IOException {
    sh(
        """
        cd files; echo 1 > a; echo 1 > b; ln -s a l; tar -cf ../x.tar a b l
        echo two > a; rm l; echo file > l; rm b; ln -s a b; tar -rf ../x.tar a l b
        """);
    bring(dir.resolve("x.tar"));
    assertIsAsTarMakesIt(dir.resolve("x.tar"));

    sh("cd files; rm a; mkdir a; echo > a/in; tar -rf ../x.tar a");
    assertRefused("x.tar", "'a' in the archive goes through 'a', which is no directory");
  }

  private void assertRefused(String archive, String why) throws IOException {
    var other = Files.createDirectories(dir.resolve("other"));
    assertThatThrownBy(() -> bring(dir.resolve(archive), other, 0, false, Optional.empty()))
        .isInstanceOf(PlatterException.class)
        .hasMessageContaining(why);
    var record = FillRecord.parse(Files.readString(other.resolve("disk.img.json"))).orElseThrow();
    assertThat(record.complete()).isFalse();
  }

  @Test
  void aBrokenArchiveIsNotCompleteAndTheNextBeginsWithACleanVolume() throws IOException {
    makeTree();
    sh("mkdir volume/lost+found; tar -czf x.tgz -C files .; head -c 100000 x.tgz > cut.tgz");
    assertThatThrownBy(() -> bring(dir.resolve("cut.tgz"))).hasMessageContaining("is refused");
    assertThat(record().orElseThrow().complete()).isFalse();
    assertThat(volume.resolve("a")).isDirectory();

    sh("rm -r files/*; echo > files/new; tar -cf new.tar -C files .");
    bring(dir.resolve("new.tar"));
    assertThat(Shell.run("ls", volume)).isEqualTo("disk.img.json\nlost+found\nnew\n");
  }

  @Test
  void anArchiveThatEndsBetweenTwoEntriesIsCutShort() throws IOException {
    sh(
        "echo 1 > files/1; echo 2 > files/2; tar -cf x.tar -C files 1 2; head -c 1024 x.tar > cut.tar");
    assertRefused("cut.tar", "its end is missing");
    sh("tar -cf none.tar -T /dev/null");
    assertRefused("none.tar", "there is nothing in the archive");
  }

  @Test
  void theDigestIsThatOfTheFile() throws IOException {
    makeTree();
    sh("tar -czf x.tgz -C files .");
    var meant = Optional.of(Digest.of("other".getBytes(StandardCharsets.UTF_8)));
    assertThatThrownBy(() -> bring(dir.resolve("x.tgz"), volume, 0, false, meant))
        .hasMessageContaining("has the digest");
    assertThat(record().orElseThrow().complete()).isFalse();
    bring(dir.resolve("x.tgz"));
    assertIsAsTarMakesIt(dir.resolve("x.tgz"));
  }

  @Test
  void whatIsNotOursStays() throws IOException {
    sh("echo 1 > files/1; tar -cf x.tar -C files 1; echo mine > volume/mine");
    assertThatThrownBy(() -> bring(dir.resolve("x.tar")))
        .hasMessageContaining("holds 'mine', which Platter has not put there");
    // Also if it came after an archive that was cut short.
    sh("rm volume/mine; head -c 1024 x.tar > cut.tar");
    assertThatThrownBy(() -> bring(dir.resolve("cut.tar"))).hasMessageContaining("its end");
    sh("echo mine > volume/mine");
    assertThatThrownBy(() -> bring(dir.resolve("x.tar"))).hasMessageContaining("holds 'mine'");
    assertThat(volume.resolve("mine")).hasContent("mine");
    assertThat(record().orElseThrow().complete()).isFalse();
  }

  @Test
  void anotherArchiveNeedsToBeToldAndADiskIsNotPutBesideOne() throws IOException {
    sh("mkdir files/d; echo 1 > files/d/1; chmod 0 files/d; tar -cf x.tar -C files d");
    sh("rm -r files/*; echo 2 > files/2; tar -cf y.tar -C files 2; truncate -s 1M disk.raw");
    bring(dir.resolve("x.tar"));
    assertThatThrownBy(() -> bring(dir.resolve("y.tar"))).hasMessageContaining("holds the archive");
    var layout = new StateLayout(dir.resolve("state"), dir.resolve("run"));
    var config = new NodeConfig(layout, Optional.empty(), Optional.empty());
    var disk =
        new DiskImport(
            dir.resolve("disk.raw").toString(), volume, Optional.empty(), Format.RAW, 0, true);
    assertThatThrownBy(() -> disk.run(config, Progress.NONE))
        .hasMessageContaining("holds the files of an archive");
    assertThat(volume.resolve("disk.img")).doesNotExist();
    bring(dir.resolve("y.tar"), volume, 0, true, Optional.empty());
    assertIsAsTarMakesIt(dir.resolve("y.tar"));
  }

  @Test
  void anArchiveHasToFitAndNeedsADirectory() throws IOException {
    sh("truncate -s 64M files/zeros; tar -czf x.tgz -C files .");
    assertThatThrownBy(() -> bring(dir.resolve("x.tgz"), volume, 32 << 20, false, Optional.empty()))
        .hasMessageContaining("does not fit")
        .hasMessageContaining("'zeros'");
    assertThat(record().orElseThrow().complete()).isFalse();
    assertThatThrownBy(
            () -> bring(dir.resolve("x.tgz"), dir.resolve("x"), 0, false, Optional.empty()))
        .hasMessageContaining("the files of an archive do not go to");
    assertThatThrownBy(() -> bring(Path.of("oci:/nowhere:1"))).hasMessageContaining("no archive");
  }
}
