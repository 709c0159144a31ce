package dev.platter.image.ext4;

import static dev.platter.image.ext4.ExtImage.file;
import static java.nio.charset.StandardCharsets.UTF_8;
import static java.nio.file.StandardOpenOption.READ;
import static java.nio.file.StandardOpenOption.WRITE;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.platter.image.BadImageException;
import dev.platter.image.ByteSource;
import dev.platter.image.ForeignTool;
import dev.platter.image.testing.MixedBytes;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** e2fsck finds nothing to complain about, and debugfs finds the files. */
class Ext4FilesTest {
  @TempDir static Path shared;
  private static Path tree;

  @TempDir Path dir;

  @BeforeAll
  static void tree() throws IOException {
    tree = ExtImage.tree(Files.createDirectory(shared.resolve("tree")));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "-t ext4",
        "-t ext4 -b 1024",
        "-t ext4 -b 2048",
        "-t ext4 -b 4096",
        "-t ext4 -b 1024 -I 128",
        "-t ext4 -b 4096 -I 512",
        "-t ext4 -b 1024 -g 1024",
        "-t ext4 -b 1024 -G 4 -E lazy_itable_init=1,lazy_journal_init=1,nodiscard",
        "-t ext4 -b 1024 -O ^flex_bg -E lazy_itable_init=1,nodiscard",
        "-t ext4 -b 1024 -O ^metadata_csum,uninit_bg -E lazy_itable_init=1,nodiscard",
        "-t ext4 -b 1024 -O ^metadata_csum,uninit_bg,^64bit,^flex_bg -E lazy_itable_init=1",
        "-t ext4 -O ^metadata_csum,^uninit_bg",
        "-t ext4 -O ^metadata_csum,^64bit -I 128",
        "-t ext4 -O metadata_csum,^64bit",
        "-t ext4 -b 1024 -O metadata_csum_seed,large_dir",
        "-t ext4 -b 1024 -O meta_bg,^resize_inode -E lazy_itable_init=1",
        "-t ext4 -b 1024 -O meta_bg,^resize_inode,^metadata_csum,uninit_bg,^64bit",
        "-t ext4 -b 1024 -O sparse_super2",
        "-t ext4 -b 1024 -O ^sparse_super,^resize_inode",
        "-t ext4 -b 1024 -O ^extent,^64bit",
        "-t ext4 -b 4096 -O ^extent,^64bit",
        "-t ext4 -O ^has_journal",
        "-t ext4 -O ^dir_index",
        "-t ext4 -O orphan_file",
        "-t ext3 -b 1024",
        "-t ext3 -b 4096",
        "-t ext2 -b 1024 -I 128",
        "-t ext2 -b 4096",
        "-t ext2 -b 1024 -O ^filetype,^dir_index",
        "-t ext2 -r 0 -b 1024"
      })
  void filesAreWrittenIntoFileSystemsOfAllAges(String options) throws IOException {
    ExtImage image = ExtImage.make(dir, 40, options, tree);
    List<NewFile> files =
        List.of(
            new NewFile("/etc/hostname", 0600, 0, 42, "after\n".getBytes(UTF_8)),
            new NewFile("/etc/made/by/us/file", 04755, 1000, 70000, new byte[0]),
            new NewFile("/etc/made/by/us/" + "n".repeat(255), 0, 1 << 30, 1, new byte[] {1}),
            new NewFile("/etc/żółć 磁盘", 0777, 5, 6, "utf".getBytes(UTF_8)),
            new NewFile("/usr/big", 0644, 0, 0, MixedBytes.of(3_000_000, 5)),
            new NewFile("/many/one-more", 0640, 0, 0, MixedBytes.of(4096, 6)),
            new NewFile("/large", 0640, 0, 0, MixedBytes.of(1_234_567, 7)));
    image.write(files);
    image.isClean();
    for (NewFile file : files) {
      image.holds(file);
    }
    assertThat(image.cat("/many/a-file-with-a-name-699")).asString().isEqualTo("699");
    assertThat(image.debugfs("ls -p /many").lines().filter(l -> l.contains("/a-file")))
        .hasSize(700);
    assertThat(image.debugfs("stat /etc/made/by"))
        .contains("Type: directory")
        .containsPattern("Mode: +0755 ")
        .containsPattern("User: +0 +Group: +0 ");
    assertThat(image.cat("/etc/twin")).asString().isEqualTo("after\n");
  }

  @ParameterizedTest
  @ValueSource(strings = {"-t ext4 -b 1024", "-t ext4 -b 4096", "-t ext3 -b 1024", "-t ext2"})
  void aDirectoryGrowsWithManyNewFiles(String options) throws IOException {
    ExtImage image = ExtImage.make(dir, 40, options, tree);
    assertThat(image.debugfs("htree_dump /many")).contains("Root node dump");
    for (String in : List.of("/many/", "/etc/", "/new/")) {
      List<NewFile> files = new ArrayList<>();
      for (int i = 0; i < 600; i++) {
        files.add(file(in + "y".repeat(i % 100) + "-" + i, in + i));
      }
      image.write(files);
      image.isClean();
      assertThat(image.cat(files.get(599).path())).asString().isEqualTo(in + 599);
      assertThat(image.debugfs("ls -p " + in).lines().filter(l -> l.contains("y-"))).hasSize(594);
    }
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "-t ext4",
        "-t ext4 -O ^flex_bg",
        "-t ext4 -g 1024 -O ^flex_bg",
        "-t ext4 -g 1024 -O ^flex_bg,^metadata_csum,uninit_bg,^64bit",
        "-t ext4 -g 1024 -O ^flex_bg,meta_bg,^resize_inode",
        "-t ext4 -g 1024 -O ^flex_bg,^sparse_super,^resize_inode",
        "-t ext4 -g 1024 -O ^flex_bg,sparse_super2"
      })
  void manyDirectoriesTakeInodesOfUntouchedGroups(String options) throws IOException {
    Path small = Files.createDirectories(dir.resolve("small/etc")).getParent();
    ExtImage image =
        ExtImage.make(dir, 40, options + " -b 1024 -N 640 -E lazy_itable_init=1,nodiscard", small);
    List<NewFile> files = new ArrayList<>();
    for (int i = 0; i < 290; i++) {
      files.add(file("/d%d/f".formatted(i), "x" + i));
    }
    image.write(files);
    image.isClean();
    assertThat(image.cat("/d289/f")).asString().isEqualTo("x289");
  }

  @ParameterizedTest
  @ValueSource(strings = {"-t ext4 -b 1024", "-t ext3 -b 1024", "-t ext4 -b 4096"})
  void aFileFitsIntoScatteredSpace(String options) throws IOException {
    Path full = Files.createDirectories(dir.resolve("full/etc")).getParent();
    int size = options.contains("4096") ? 4096 : 1024;
    for (int i = 0; i < 3000; i++) {
      Files.write(full.resolve("f" + i), ExtImage.full(size));
    }
    ExtImage image = ExtImage.make(dir, 24, options + " -m 0 -N 4096", full);
    StringBuilder script = new StringBuilder();
    for (int i = 0; i < 3000; i += 2) {
      script.append("rm /f").append(i).append('\n');
    }
    // What is left in one piece is filled up, so that only the holes remain.
    long free = Long.parseLong(free(image));
    Files.write(dir.resolve("fill"), ExtImage.full((int) (free - 60) * size));
    ForeignTool.sh(dir, "debugfs -w -R 'write fill fill' fs 2>&1");
    Files.writeString(dir.resolve("script"), script);
    ForeignTool.sh(dir, "debugfs -w -f script fs >/dev/null 2>&1; e2fsck -fy fs || test $? = 1");
    NewFile file = new NewFile("/etc/scattered", 0600, 0, 0, MixedBytes.of(1300 * size, 3));
    image.write(List.of(file));
    image.isClean();
    image.holds(file);
    if (options.contains("ext4")) {
      assertThat(image.debugfs("stat /etc/scattered"))
          .contains(options.contains("1024") ? "(ETB1)" : "(ETB0)");
    }
    NewFile less = file("/etc/scattered", "less");
    image.write(List.of(less));
    image.isClean();
    image.holds(less);
  }

  private String free(ExtImage image) throws IOException {
    return ForeignTool.sh(
            dir, "dumpe2fs -h " + image.file() + " 2>/dev/null | sed -n 's/^Free blocks: *//p'")
        .strip();
  }

  @Test
  void linksAreFollowedAsTheGuestWould() throws IOException {
    ExtImage image = ExtImage.make(dir, 24, "-t ext4", tree);
    image.write(
        List.of(
            file("/bin/tool", "tool"),
            file("/etc/alias", "alias"),
            file("/etc/dangling", "dangling"),
            file("/long/roundabout", "roundabout")));
    image.isClean();
    image.holds("/usr/bin/tool", file("/any", "tool"));
    image.holds("/usr/share/real", file("/any", "alias"));
    image.holds("/run/not/there", file("/any", "dangling"));
    image.holds("/guest/bin/roundabout", file("/any", "roundabout"));
    assertThat(image.debugfs("stat /etc/alias")).contains("Type: symlink");
  }

  @Test
  void theLastOfTwoWinsAndTheSameFilesGiveTheSameBytes() throws IOException {
    ExtImage image = ExtImage.make(dir, 24, "-t ext4", tree);
    byte[] before = Files.readAllBytes(image.file());
    List<NewFile> files = List.of(file("/a/b", "x".repeat(9000)), file("/a/b", "last"));
    image.write(files);
    image.isClean();
    image.holds(files.get(1));
    byte[] after = Files.readAllBytes(image.file());
    Files.write(image.file(), before);
    image.write(files);
    assertThat(Files.readAllBytes(image.file())).isEqualTo(after);
  }

  @ParameterizedTest
  @ValueSource(strings = {"-t ext4", "-t ext4 -I 128", "-t ext2"})
  void aFileThatIsReplacedKeepsItsAttributes(String options) throws IOException {
    ExtImage image = ExtImage.make(dir, 24, options, tree);
    String value = "v".repeat(600); // has a block of its own
    ForeignTool.sh(dir, "debugfs -w -R 'ea_set /usr/big user.key " + value + "' fs");
    image.isClean();
    NewFile file = file("/usr/big", "small now");
    image.write(List.of(file));
    image.isClean();
    image.holds(file);
    assertThat(image.debugfs("ea_get /usr/big user.key")).contains(value);
  }

  @Test
  void aFileSystemOfManyFullGroupsTakesALargeFile() throws IOException {
    Path small = Files.createDirectories(dir.resolve("small/etc")).getParent();
    ExtImage image = ExtImage.make(dir, 60, "-t ext4 -b 1024 -g 256 -N 1000 -m 0", small);
    Files.write(dir.resolve("fill"), ExtImage.full(30 << 20));
    ForeignTool.sh(dir, "debugfs -w -R 'write fill fill' fs 2>&1");
    NewFile file = new NewFile("/etc/x", 0600, 0, 0, MixedBytes.of(10_000_000, 3));
    image.write(List.of(file));
    image.isClean();
    image.holds(file);
  }

  @Test
  void timesAfter2038AreKept() throws IOException {
    ExtImage image = ExtImage.make(dir, 24, "-t ext4", tree);
    Instant late = Instant.parse("2150-01-02T03:04:05Z");
    try (FileChannel channel = FileChannel.open(image.file(), READ, WRITE)) {
      List<NewFile> files = List.of(file("/late", "late"));
      ExtImage.apply(Ext4Files.write(ByteSource.of(channel), files, late), channel);
    }
    image.isClean();
    assertThat(image.debugfs("stat /late")).containsPattern("mtime: .* Fri Jan +2 03:04:05 2150");
  }

  @Test
  void whatIsNoFileIsNotReplaced() throws IOException {
    ExtImage image = ExtImage.make(dir, 24, "-t ext4", tree);
    refuses(image, "/etc/ssl", "it is a directory");
    refuses(image, "/bin", "it is a directory");
    refuses(image, "/etc/pipe", "'pipe' is a device or the like");
    refuses(image, "/etc/hostname/x", "'hostname' on the way is a file");
    refuses(image, "/wide", "a link to no possible name");
    refuses(image, "/circle", "more than 40 links");
    refuses(image, "/circle/x", "more than 40 links");
  }

  @Test
  void aFullFileSystemIsAnError() throws IOException {
    Path small = Files.createDirectories(dir.resolve("small/etc")).getParent();
    ExtImage image = ExtImage.make(dir, 4, "-t ext2 -b 1024 -N 32", small);
    assertThatThrownBy(() -> image.write(List.of(new NewFile("/x", 0, 0, 0, new byte[5_000_000]))))
        .isInstanceOf(BadImageException.class)
        .hasMessageContaining("it has no free block");
    List<NewFile> files = new ArrayList<>();
    for (int i = 0; i < 40; i++) {
      files.add(file("/x" + i, ""));
    }
    assertThatThrownBy(() -> image.write(files))
        .isInstanceOf(BadImageException.class)
        .hasMessageContaining("it has no free inode");
    image.isClean();
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "-t ext4 -O bigalloc | bigalloc",
        "-t ext4 -O quota | quota",
        "-t ext4 -O inline_data | inside its inode",
        "-t ext4 -O ea_inode | incompat 0x400"
      })
  void featuresThatAreNotKnownAreNamed(String text) throws IOException {
    String[] parts = text.split(" \\| ");
    ExtImage image = ExtImage.make(dir, 24, parts[0], tree);
    refuses(image, "/etc/ssl/file", parts[1]);
  }

  @Test
  void aFileSystemThatWasNotUnmountedIsRefused() throws IOException {
    ExtImage image = ExtImage.make(dir, 24, "-t ext4", tree);
    image.debugfs("help"); // opened read-only: still clean
    ForeignTool.sh(dir, "debugfs -w -R 'feature needs_recovery' fs");
    refuses(image, "/x", "was not unmounted");
    ForeignTool.sh(dir, "debugfs -w -R 'feature ^needs_recovery' fs");
    ForeignTool.sh(dir, "debugfs -w -R 'ssv state 3' fs");
    refuses(image, "/x", "is marked as having errors");
  }

  @Test
  void pathsThatNoFileCanHaveAreRefused() {
    for (String path :
        List.of("", "a", "/", "/a/", "//a", "/a/../b", "/./a", "/a\0b", "/" + "ż".repeat(128))) {
      assertThatThrownBy(() -> file(path, ""))
          .isInstanceOf(IllegalArgumentException.class)
          .hasMessageStartingWith("the file '");
    }
    assertThatThrownBy(() -> new NewFile("/a", 010000, 0, 0, new byte[0]))
        .hasMessageContaining("mode");
    assertThatThrownBy(() -> new NewFile("/a", 0, -1, 0, new byte[0]))
        .hasMessageContaining("owner");
  }

  private static void refuses(ExtImage image, String path, String why) {
    assertThatThrownBy(() -> image.write(List.of(file(path, "x"))))
        .isInstanceOf(BadImageException.class)
        .hasMessageContaining(why);
  }
}
