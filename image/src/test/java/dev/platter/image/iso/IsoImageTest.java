package dev.platter.image.iso;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.platter.image.ForeignTool;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The oracle is xorriso, which reads both trees, and blkid. */
class IsoImageTest {
  @TempDir Path work;

  private static byte[] text(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }

  private static SortedMap<String, byte[]> cloudInit() {
    return new TreeMap<>(
        Map.of("meta-data", text("instance-id: a\n"), "user-data", text("#cloud\n")));
  }

  private static SortedMap<String, byte[]> configDrive() {
    var files = new TreeMap<String, byte[]>();
    files.put("openstack/latest/meta_data.json", text("{}"));
    files.put("openstack/latest/user_data", text("x"));
    files.put("openstack/latest/network_data.json", text("{\"links\":[]}"));
    files.put("openstack/content/0000", new byte[0]);
    files.put("ec2/2009-04-04/meta-data.json", text("{}"));
    return files;
  }

  private Path write(String label, SortedMap<String, byte[]> files) throws IOException {
    Path image = Files.createTempFile(work, "image", ".iso");
    try (var out = Files.newOutputStream(image)) {
      new IsoImage(label, files).writeTo(out);
    }
    return image;
  }

  /** What xorriso reads when told to look at one tree only. */
  private SortedMap<String, byte[]> extract(Path image, String tree) throws IOException {
    Path target = Files.createTempDirectory(work, tree);
    ForeignTool.run(
        work,
        "xorriso",
        "-abort_on",
        "WARNING",
        "-read_fs",
        nameForXorriso(tree),
        "-osirrox",
        "on",
        "-indev",
        image.toString(),
        "-extract",
        "/",
        target.toString());
    ForeignTool.run(work, "chmod", "-R", "u+w", target.toString());
    var found = new TreeMap<String, byte[]>();
    try (Stream<Path> paths = Files.walk(target)) {
      for (Path path : (Iterable<Path>) paths.filter(Files::isRegularFile)::iterator) {
        found.put(target.relativize(path).toString(), Files.readAllBytes(path));
      }
    }
    return found;
  }

  private static String nameForXorriso(String tree) {
    return switch (tree) {
      case "rockridge" -> "nojoliet";
      case "joliet" -> "norock";
      default -> "ecma119";
    };
  }

  private static void assertSame(SortedMap<String, byte[]> found, SortedMap<String, byte[]> given) {
    assertThat(found.keySet()).isEqualTo(given.keySet());
    given.forEach((path, content) -> assertThat(found.get(path)).as(path).isEqualTo(content));
  }

  @ParameterizedTest
  @ValueSource(strings = {"rockridge", "joliet"})
  void aCloudInitDriveHasItsFilesUnderTheirNames(String tree) throws IOException {
    assertSame(extract(write("cidata", cloudInit()), tree), cloudInit());
  }

  @ParameterizedTest
  @ValueSource(strings = {"rockridge", "joliet"})
  void aConfigDriveHasItsNestedDirectories(String tree) throws IOException {
    assertSame(extract(write("config-2", configDrive()), tree), configDrive());
  }

  @Test
  void readersWithoutExtensionsSeeUniqueShortNames() throws IOException {
    SortedMap<String, byte[]> found = extract(write("config-2", configDrive()), "short");
    assertThat(found.keySet()).hasSize(configDrive().size());
    assertThat(found.keySet().toString()).containsIgnoringCase("OPENSTAC/LATEST/META_DAT.JSO");
  }

  @ParameterizedTest
  @ValueSource(strings = {"cidata", "config-2", "CIDATA"})
  void blkidReadsTheLabel(String label) throws IOException {
    Path image = write(label, cloudInit());
    assertThat(ForeignTool.run(work, "blkid", "-p", "-o", "export", image.toString()))
        .contains("TYPE=iso9660", "LABEL=" + label + "\n");
  }

  @ParameterizedTest
  @ValueSource(strings = {"rockridge", "joliet"})
  void filesOfAllSizesKeepTheirBytes(String tree) throws IOException {
    var random = new Random(7);
    var files = new TreeMap<String, byte[]>();
    for (int size : List.of(0, 1, 2047, 2048, 2049, 65536, 5_000_001)) {
      byte[] content = new byte[size];
      random.nextBytes(content);
      files.put("size/of-" + size + ".bin", content);
    }
    files.put("empty-at-the-end", new byte[0]);
    assertSame(extract(write("data", files), tree), files);
  }

  @ParameterizedTest
  @ValueSource(strings = {"rockridge", "joliet"})
  void manyFilesAndDirectoriesFillManySectors(String tree) throws IOException {
    var files = new TreeMap<String, byte[]>();
    for (int i = 0; i < 1500; i++) {
      files.put("directory-" + i % 120 + "/a-rather-long-file-name-" + i + ".json", text("" + i));
      files.put("flat file with blanks " + i, text("" + i));
    }
    assertSame(extract(write("many", files), tree), files);
  }

  @ParameterizedTest
  @ValueSource(strings = {"rockridge", "joliet"})
  void namesBeyondAsciiAndOfFullLengthSurvive(String tree) throws IOException {
    var files = new TreeMap<String, byte[]>();
    files.put("größe/ключ.txt", text("a"));
    files.put("x".repeat(64), text("b"));
    files.put("UPPER.TXT", text("c"));
    files.put("upper.txt", text("d"));
    files.put(".hidden", text("e"));
    files.put("1/2/3/4/5/6/7", text("f"));
    Path image = write("names", files);
    assertSame(extract(image, tree), files);
  }

  @Test
  void everythingIsReadOnlyAndBelongsToRoot() throws IOException {
    Path image = write("cidata", configDrive());
    String listing =
        ForeignTool.run(
            work, "xorriso", "-indev", image.toString(), "-find", "/", "-exec", "lsdl", "--");
    assertThat(listing.lines().filter(line -> line.contains("meta_data.json")))
        .singleElement()
        .asString()
        .startsWith("-r--r--r--    1 0        0");
    assertThat(listing.lines().filter(line -> line.endsWith("'/openstack'")))
        .singleElement()
        .asString()
        .startsWith("dr-xr-xr-x");
  }

  @Test
  void xorrisoFindsNoFaultWithTheImage() throws IOException {
    Path image = write("cidata", configDrive());
    String report = ForeignTool.sh(work, "xorriso -indev " + image + " -toc -check_media -- 2>&1");
    assertThat(report).doesNotContain("FAILURE", "SORRY", "WARNING");
    assertThat(Files.size(image) % 2048).isZero();
  }

  @Test
  void theSameFilesGiveTheSameBytes() throws IOException {
    assertThat(Files.readAllBytes(write("cidata", configDrive())))
        .isEqualTo(Files.readAllBytes(write("cidata", configDrive())));
  }

  @Test
  void writingTwiceGivesTheSameBytes() throws IOException {
    var image = new IsoImage("cidata", configDrive());
    var first = new ByteArrayOutputStream();
    var second = new ByteArrayOutputStream();
    image.writeTo(first);
    image.writeTo(second);
    assertThat(first.toByteArray()).isEqualTo(second.toByteArray());
  }

  @Test
  void linuxMountsIt() throws IOException {
    boolean possible =
        Files.readString(Path.of("/proc/filesystems")).contains("iso9660")
            && "root".equals(System.getProperty("user.name"));
    assumeTrue(possible, "skipped: needs root and a kernel with isofs");
    Path image = write("config-2", configDrive());
    String listing =
        ForeignTool.sh(
            work,
            "mkdir m; unshare -m sh -euc 'mount -o loop,ro " + image + " m; cd m; find . -type f'");
    assertThat(listing.lines().map(line -> line.substring(2)))
        .containsExactlyInAnyOrderElementsOf(configDrive().keySet());
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "",
        "/a",
        "a/",
        "a//b",
        "..",
        "a/../b",
        ".",
        "a\0b",
        "a\\b",
        "a:b",
        "a*",
        "a;1",
        "a?",
        "1/2/3/4/5/6/7/8",
        "line\nbreak"
      })
  void pathsThatReadersWouldMangleAreRefused(String path) {
    var files = new TreeMap<>(Map.of(path, new byte[1]));
    assertThatThrownBy(() -> new IsoImage("cidata", files))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("'" + path + "'");
  }

  @Test
  void aNameThatIsTooLongIsRefused() {
    var files = new TreeMap<>(Map.of("x".repeat(65), new byte[1]));
    assertThatThrownBy(() -> new IsoImage("cidata", files))
        .hasMessageContaining("cannot be a name");
  }

  @Test
  void aFileThatIsAlsoADirectoryIsRefused() {
    var files = new TreeMap<>(Map.of("a", new byte[1], "a/b", new byte[1]));
    assertThatThrownBy(() -> new IsoImage("cidata", files))
        .hasMessageContaining("'a' is a file and a directory");
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "has blank", "seventeen-letters", "ä"})
  void labelsThatDoNotFitAreRefused(String label) {
    assertThatThrownBy(() -> new IsoImage(label, cloudInit()))
        .hasMessageContaining("no volume label");
  }
}
