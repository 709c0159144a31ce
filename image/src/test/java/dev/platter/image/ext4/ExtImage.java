package dev.platter.image.ext4;

import static java.nio.charset.StandardCharsets.UTF_8;
import static java.nio.file.StandardOpenOption.READ;
import static java.nio.file.StandardOpenOption.WRITE;
import static org.assertj.core.api.Assertions.assertThat;

import dev.platter.image.ByteSource;
import dev.platter.image.ForeignTool;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.Arrays;
import java.util.List;
import java.util.Map;

/** A file system that mke2fs made, in a file full of garbage, and what its tools say of it. */
final class ExtImage {
  static final Instant NOW = Instant.parse("2024-05-06T07:08:09Z");

  private final Path dir;

  private ExtImage(Path dir) {
    this.dir = dir;
  }

  Path file() {
    return dir.resolve("fs");
  }

  /**
   * @param options of mke2fs
   * @param tree what is in it; e2fsck has then given large directories an index
   */
  static ExtImage make(Path dir, int mebibytes, String options, Path tree) throws IOException {
    byte[] garbage = new byte[1 << 20];
    Arrays.fill(garbage, (byte) 0xA5);
    try (var out = Files.newOutputStream(dir.resolve("fs"))) {
      for (int i = 0; i < mebibytes; i++) {
        out.write(garbage);
      }
    }
    ForeignTool.sh(
        dir,
        "mke2fs -q -F -U 3b241101-e2bb-4255-8caf-4136c566a962 -d %s %s fs"
            .formatted(tree, options));
    ForeignTool.sh(dir, "e2fsck -fyD fs || test $? = 1");
    var image = new ExtImage(dir);
    image.isClean();
    return image;
  }

  /** Things that roots have: files, links of all kinds, a directory large enough for an index. */
  static Path tree(Path at) throws IOException {
    Files.createDirectories(at.resolve("etc/ssl"));
    Files.createDirectories(at.resolve("usr/bin"));
    Files.createDirectories(at.resolve("usr/share"));
    Files.createDirectories(at.resolve("many"));
    Files.writeString(at.resolve("etc/hostname"), "before\n");
    Files.createLink(at.resolve("etc/twin"), at.resolve("etc/hostname"));
    Files.write(at.resolve("usr/big"), full(700_000));
    Files.writeString(at.resolve("usr/share/real"), "real\n".repeat(3000));
    Files.createSymbolicLink(at.resolve("bin"), Path.of("usr/bin"));
    Files.createSymbolicLink(at.resolve("etc/alias"), Path.of("../usr/share/real"));
    Files.createSymbolicLink(at.resolve("etc/dangling"), Path.of("/run/not/there"));
    Files.createDirectories(at.resolve("guest/share"));
    Files.createDirectories(at.resolve("guest/bin"));
    String roundabout = "/guest/share/../../guest/bin/../share/./../../../../../guest/share/../bin";
    Files.createSymbolicLink(at.resolve("long"), Path.of(roundabout));
    Files.createSymbolicLink(at.resolve("wide"), Path.of("w".repeat(300)));
    Files.createSymbolicLink(at.resolve("circle"), Path.of("circle2"));
    Files.createSymbolicLink(at.resolve("circle2"), Path.of("circle"));
    for (int i = 0; i < 700; i++) {
      Files.writeString(at.resolve("many/a-file-with-a-name-" + i), "" + i);
    }
    ForeignTool.run(at, "mkfifo", "etc/pipe");
    return at;
  }

  /** Writes files into this image; its bytes change, as those of a disk with an overlay would. */
  void write(List<NewFile> files) throws IOException {
    try (FileChannel channel = FileChannel.open(file(), READ, WRITE)) {
      apply(Ext4Files.write(ByteSource.of(channel), files, NOW), channel);
    }
  }

  static void apply(Patch patch, FileChannel channel) throws IOException {
    for (Map.Entry<Long, byte[]> piece : patch.pieces().entrySet()) {
      channel.write(ByteBuffer.wrap(piece.getValue()), piece.getKey());
    }
  }

  void isClean() throws IOException {
    ForeignTool.sh(dir, "e2fsck -fn fs >check.txt 2>&1 || { cat check.txt >&2; exit 1; }");
  }

  /** What a file holds. */
  byte[] cat(String path) throws IOException {
    Path out = dir.resolve("out");
    Files.deleteIfExists(out);
    debugfs("dump \\\"%s\\\" out".formatted(path));
    return Files.readAllBytes(out);
  }

  void holds(NewFile file) throws IOException {
    holds(file.path(), file);
  }

  /** Content, mode and owner are as wanted. */
  void holds(String path, NewFile file) throws IOException {
    assertThat(cat(path)).as(path).isEqualTo(file.content());
    assertThat(debugfs("stat \\\"%s\\\"".formatted(path)))
        .as(path)
        .contains("Type: regular")
        .containsPattern("Mode: +0*%o ".formatted(file.mode()))
        .containsPattern("User: +%d +Group: +%d ".formatted(file.uid(), file.gid()))
        .containsPattern("mtime: 0x%08x".formatted(NOW.getEpochSecond()));
  }

  /** What debugfs prints. It succeeds whatever happens, so the tests look for what they expect. */
  String debugfs(String command) throws IOException {
    return ForeignTool.sh(dir, "debugfs -R \"%s\" fs 2>&1".formatted(command));
  }

  /** Bytes that mke2fs does not take for a hole. */
  static byte[] full(int size) {
    byte[] bytes = new byte[size];
    Arrays.fill(bytes, (byte) 'f');
    return bytes;
  }

  static NewFile file(String path, String content) {
    return new NewFile(path, 0644, 0, 0, content.getBytes(UTF_8));
  }
}
