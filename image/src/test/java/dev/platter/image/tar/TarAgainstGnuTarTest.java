package dev.platter.image.tar;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.platter.image.BadImageException;
import dev.platter.image.ForeignTool;
import java.io.BufferedInputStream;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What GNU tar writes we read, and the other way round. */
class TarAgainstGnuTarTest {
  @TempDir Path work;

  private record Found(TarEntry entry, byte[] content) {}

  private static Map<String, Found> readAll(Path archive) throws IOException {
    var found = new LinkedHashMap<String, Found>();
    try (InputStream in = new BufferedInputStream(Files.newInputStream(archive))) {
      var reader = new TarReader(in);
      for (TarEntry entry; (entry = reader.next()) != null; ) {
        found.put(entry.name(), new Found(entry, reader.content().readAllBytes()));
      }
    }
    return found;
  }

  private byte[] randomFile(String name, int size) throws IOException {
    byte[] content = new byte[size];
    new Random(size).nextBytes(content);
    Path file = work.resolve(name);
    Files.createDirectories(file.getParent());
    Files.write(file, content);
    return content;
  }

  @ParameterizedTest
  @ValueSource(strings = {"v7", "oldgnu", "gnu", "ustar", "pax"})
  void everyFormatOfGnuTarIsRead(String format) throws IOException {
    byte[] small = randomFile("in/disk/small.img", 513);
    byte[] large = randomFile("in/disk/large.img", 3_000_000);
    randomFile("in/empty", 0);
    Files.createSymbolicLink(work.resolve("in/symlink"), Path.of("disk/small.img"));
    Files.createLink(work.resolve("in/zz-hardlink"), work.resolve("in/disk/small.img"));
    ForeignTool.run(
        work, "tar", "--format=" + format, "--sort=name", "-C", "in", "-cf", "a.tar", ".");

    Map<String, Found> found = readAll(work.resolve("a.tar"));
    assertThat(found.keySet())
        .containsExactlyInAnyOrder(
            ".", "disk", "disk/small.img", "disk/large.img", "empty", "symlink", "zz-hardlink");
    assertThat(found.get("disk/small.img").content()).isEqualTo(small);
    assertThat(found.get("disk/large.img").content()).isEqualTo(large);
    assertThat(found.get("disk").entry().type()).isEqualTo(TarEntry.Type.DIRECTORY);
    assertThat(found.get("symlink").entry())
        .isEqualTo(new TarEntry("symlink", TarEntry.Type.SYMBOLIC_LINK, 0, "disk/small.img"));
    assertThat(found.get("zz-hardlink").entry().type()).isEqualTo(TarEntry.Type.HARD_LINK);
    assertThat(found.get("zz-hardlink").entry().linkName()).endsWith("disk/small.img");
  }

  @ParameterizedTest
  @ValueSource(strings = {"gnu", "pax"})
  void longNamesAndLinksAreRead(String format) throws IOException {
    String name = "d".repeat(120) + "/" + "f".repeat(200);
    byte[] content = randomFile("in/" + name, 10);
    Files.createSymbolicLink(work.resolve("in/link"), Path.of(name));
    ForeignTool.run(work, "tar", "--format=" + format, "-C", "in", "-cf", "a.tar", ".");
    Map<String, Found> found = readAll(work.resolve("a.tar"));
    assertThat(found.get(name).content()).isEqualTo(content);
    assertThat(found.get("link").entry().linkName()).isEqualTo(name);
  }

  @Test
  void aUstarPrefixIsPartOfTheName() throws IOException {
    String name = "d".repeat(90) + "/" + "f".repeat(90);
    byte[] content = randomFile("in/" + name, 10);
    ForeignTool.run(work, "tar", "--format=ustar", "-C", "in", "-cf", "a.tar", name);
    assertThat(readAll(work.resolve("a.tar")).get(name).content()).isEqualTo(content);
  }

  /** Only the first blocks of the archive exist; 9 GiB are not written to find out. */
  @ParameterizedTest
  @ValueSource(strings = {"gnu", "pax"})
  void sizesBeyondOctalAreRead(String format) throws IOException {
    ForeignTool.sh(
        work,
        "truncate -s 9G big; { tar --format="
            + format
            + " -cf - big || true; } | head -c 4096 > a.tar");
    try (InputStream in = Files.newInputStream(work.resolve("a.tar"))) {
      assertThat(new TarReader(in).next())
          .isEqualTo(new TarEntry("big", TarEntry.Type.FILE, 9L << 30, ""));
    }
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "--format=gnu",
        "--sparse-version=0.0",
        "--sparse-version=0.1",
        "--sparse-version=1.0"
      })
  void sparseFilesAreRefused(String variant) throws IOException {
    String format = variant.contains("version") ? "--format=pax " + variant : variant;
    ForeignTool.sh(
        work,
        "truncate -s 4M f; echo x | dd of=f seek=4000 conv=notrunc status=none;"
            + " tar --sparse "
            + format
            + " -cf a.tar f");
    assertThatThrownBy(() -> readAll(work.resolve("a.tar")))
        .isInstanceOf(BadImageException.class)
        .hasMessageContaining("sparse file at byte");
  }

  @Test
  void gnuTarUnpacksWhatWeWrite() throws IOException {
    String longName = "disk/" + "long-".repeat(40) + "größe.qcow2";
    byte[] content = "0123456789".repeat(333).getBytes(StandardCharsets.UTF_8);
    writeArchive(longName, content);
    ForeignTool.run(work, "tar", "-xf", "a.tar", "--no-same-owner");
    assertThat(work.resolve(longName)).hasBinaryContent(content);
    assertThat(work.resolve("disk/plain.img")).hasBinaryContent(new byte[512]);
    String listing =
        ForeignTool.sh(work, "TZ=UTC tar --numeric-owner --quoting-style=literal -tvf a.tar");
    assertThat(listing.lines())
        .anySatisfy(
            line ->
                assertThat(line)
                    .startsWith("-r--r--r-- 107/107")
                    .contains("1970-01-01 00:00")
                    .endsWith(longName))
        .anySatisfy(line -> assertThat(line).startsWith("drwxr-xr-x 107/107").endsWith("disk/"));
  }

  @Test
  void onlyNamesThatNeedItGetAPaxHeader() throws IOException {
    writeArchive("disk/short", new byte[1]);
    byte[] archive = Files.readAllBytes(work.resolve("a.tar"));
    assertThat(new String(archive, StandardCharsets.ISO_8859_1)).doesNotContain("path=");
    // directory, header + block, header + block, end
    assertThat(archive).hasSize(512 * (1 + 2 + 2 + 2));
  }

  @Test
  void aSizeBeyondOctalGoesIntoAPaxHeader() throws IOException {
    long size = (8L << 30) + 1;
    Path head = work.resolve("head.tar");
    try (var out = Files.newOutputStream(head)) {
      var tar = new TarWriter(out, 0, 0);
      assertThatThrownBy(() -> tar.file("big", 0644, size, InputStream.nullInputStream()))
          .hasMessageContaining("shorter while it was packed");
    }
    String listing = ForeignTool.sh(work, "tar -tvf head.tar 2>/dev/null || true");
    assertThat(listing).contains(" " + size + " ");
  }

  private void writeArchive(String name, byte[] content) throws IOException {
    try (var tar = new TarWriter(Files.newOutputStream(work.resolve("a.tar")), 107, 107)) {
      tar.directory("disk", 0755);
      tar.file(name, 0444, content.length, new ByteArrayInputStream(content));
      tar.file("disk/plain.img", 0644, 512, new ByteArrayInputStream(new byte[512]));
    }
  }
}
