package dev.platter.image.oci;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.platter.image.BadImageException;
import dev.platter.image.Digest;
import dev.platter.image.ForeignTool;
import dev.platter.image.lazy.DiskImage;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Random;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Layouts are exchanged with skopeo and umoci in both directions. */
class OciLayoutTest {
  @TempDir Path work;
  private Path layout;
  private Path disk;
  private Path spool;

  @BeforeEach
  void makeADisk() throws IOException {
    layout = work.resolve("layout");
    spool = Files.createDirectory(work.resolve("spool"));
    disk = work.resolve("disk.img");
    byte[] content = new byte[300_000];
    new Random(5).nextBytes(content);
    Files.write(disk, content);
  }

  private Descriptor add(String tag) throws IOException {
    return new OciLayoutWriter(layout).add(tag, Platform.LINUX_AMD64, "vm.img", disk);
  }

  private ExtractedDisk extract(String tag) throws IOException {
    var source = new OciLayout(layout);
    return DiskImage.extract(source, source.resolve(tag).manifest(), spool, Progress.NONE);
  }

  private Path blob(Digest digest) {
    return layout.resolve("blobs/sha256").resolve(digest.hex());
  }

  @Test
  void skopeoReadsWhatWeWrite() throws IOException {
    Descriptor manifest = add("v1");
    assertThat(ForeignTool.run(work, "skopeo", "inspect", "oci:layout:v1"))
        .contains(manifest.digest().toString(), "\"Architecture\": \"amd64\"");
    ForeignTool.run(work, "skopeo", "copy", "-q", "oci:layout:v1", "dir:copy");
    assertThat(work.resolve("copy/manifest.json")).hasSameBinaryContentAs(blob(manifest.digest()));
  }

  @Test
  void umociUnpacksWhatWeWrite() throws IOException {
    add("v1");
    ForeignTool.run(work, "umoci", "unpack", "--image", "layout:v1", "bundle");
    Path unpacked = work.resolve("bundle/rootfs/disk/vm.img");
    assertThat(unpacked).hasSameBinaryContentAs(disk);
    assertThat(ForeignTool.run(work, "stat", "-c", "%u:%g %a", unpacked.toString()))
        .isEqualTo("107:107 444\n");
  }

  @Test
  void theSameDiskGivesTheSameDigest() throws IOException {
    Descriptor first = add("v1");
    layout = work.resolve("other");
    assertThat(add("another-tag")).isEqualTo(first);
  }

  @Test
  void whatWeWriteWeExtract() throws IOException {
    Descriptor manifest = add("v1");
    Resolved resolved = new OciLayout(layout).resolve("v1");
    assertThat(resolved.descriptor()).isEqualTo(manifest);
    ExtractedDisk extracted = extract("v1");
    assertThat(extracted.file()).hasSameBinaryContentAs(disk);
    assertThat(extracted.name()).isEqualTo("vm.img");
    assertThat(extract(manifest.digest().toString()).file()).hasSameBinaryContentAs(disk);
    assertThat(extract("").file()).hasSameBinaryContentAs(disk);
  }

  @Test
  void aTagMovesAndOthersStay() throws IOException {
    ForeignTool.sh(work, "umoci init --layout layout; umoci new --image layout:foreign");
    add("v1");
    Files.writeString(disk, "new");
    add("v1");
    assertThat(ForeignTool.run(work, "umoci", "ls", "--layout", "layout").lines())
        .containsExactly("foreign", "v1");
    assertThat(extract("v1").file()).hasContent("new");
    ForeignTool.sh(work, "umoci gc --layout layout; umoci stat --image layout:v1");
    assertThat(extract("v1").file()).hasContent("new");
  }

  @Test
  void layersOfUmociGiveTheFileThatAContainerWouldSee() throws IOException {
    ForeignTool.sh(
        work,
        """
        umoci init --layout layout
        umoci new --image layout:v1
        mkdir d; echo first > d/a
        umoci insert --image layout:v1 d /disk
        echo second > other
        umoci insert --image layout:v1 other /disk/a
        umoci insert --image layout:v1 other /etc/motd
        """);
    assertThat(extract("v1").file()).hasContent("second\n");

    ForeignTool.sh(work, "umoci insert --image layout:v1 --whiteout /disk/a");
    assertThatThrownBy(() -> extract("v1")).hasMessageContaining("no file in /disk");

    ForeignTool.sh(work, "umoci insert --image layout:v1 other /disk/b");
    assertThat(extract("v1").name()).isEqualTo("b");

    ForeignTool.sh(work, "mkdir e; umoci insert --image layout:v1 --opaque e /disk");
    assertThatThrownBy(() -> extract("v1")).hasMessageContaining("no file in /disk");

    ForeignTool.sh(work, "echo 1 > e/x; echo 2 > e/y; umoci insert --image layout:v1 e /disk");
    assertThatThrownBy(() -> extract("v1")).hasMessageContaining("expected one: [x, y]");
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "--dest-compress-format zstd --dest-compress",
        "--dest-decompress",
        "--format oci"
      })
  void whatSkopeoRepacksWeExtract(String options) throws IOException {
    add("v1");
    ForeignTool.sh(work, "skopeo copy -q " + options + " oci:layout:v1 oci:repacked:v1");
    layout = work.resolve("repacked");
    assertThat(extract("v1").file()).hasSameBinaryContentAs(disk);
  }

  @Test
  void anUnknownTagIsAnsweredWithTheKnownOnes() throws IOException {
    add("v1");
    add("v2");
    assertThatThrownBy(() -> extract("v3"))
        .isInstanceOf(FileNotFoundException.class)
        .hasMessageContaining("has not 'v3'; it has [v1, v2]");
    assertThatThrownBy(() -> extract("")).hasMessageContaining("it has [v1, v2]");
  }

  @ParameterizedTest
  @ValueSource(strings = {"index.json", "oci-layout", "blobs", "blobs/sha256", "manifest", "layer"})
  void linksInsideTheLayoutAreNotFollowed(String what) throws IOException {
    Digest manifest = add("v1").digest();
    Digest layer = new OciLayout(layout).resolve("v1").manifest().layers().getFirst().digest();
    Path target =
        switch (what) {
          case "manifest" -> blob(manifest);
          case "layer" -> blob(layer);
          default -> layout.resolve(what);
        };
    Path moved = work.resolve("moved");
    Files.move(target, moved);
    Files.createSymbolicLink(target, moved);
    assertThatThrownBy(() -> extract("v1"))
        .isInstanceOf(BadImageException.class)
        .hasMessageContaining("cannot be opened");
    assertThat(spool).isEmptyDirectory();
  }

  @Test
  void aPipeInThePlaceOfABlobIsNotOpened() throws IOException {
    Digest manifest = add("v1").digest();
    Files.delete(blob(manifest));
    ForeignTool.run(work, "mkfifo", blob(manifest).toString());
    assertThatThrownBy(() -> extract("v1")).hasMessageContaining("not a regular file");
  }

  @Test
  void aChangedByteIsFound() throws IOException {
    add("v1");
    Path layer = blob(new OciLayout(layout).resolve("v1").manifest().layers().getFirst().digest());
    byte[] bytes = Files.readAllBytes(layer);
    bytes[bytes.length / 2] ^= 1;
    Files.write(layer, bytes);
    assertThatThrownBy(() -> extract("v1")).isInstanceOf(BadImageException.class);
    assertThat(spool).isEmptyDirectory();
  }

  @Test
  void aMissingBlobIsNamed() throws IOException {
    Digest manifest = add("v1").digest();
    Files.delete(blob(manifest));
    assertThatThrownBy(() -> extract("v1"))
        .isInstanceOf(FileNotFoundException.class)
        .hasMessageContaining(manifest.hex() + " does not exist");
  }

  @Test
  void aDirectoryThatIsNoLayoutIsSaidToBeNone() throws IOException {
    Files.createDirectory(layout);
    assertThatThrownBy(() -> extract("v1")).hasMessageContaining("oci-layout does not exist");
  }

  @Test
  void theImageOfThePlatformIsTakenFromAnIndex() throws IOException {
    Descriptor amd64 = add("amd64");
    Files.writeString(disk, "for arm");
    Descriptor arm64 =
        new OciLayoutWriter(layout).add("arm64", new Platform("linux", "arm64"), "vm.img", disk);
    String index =
        "{\"schemaVersion\":2,\"manifests\":[%s,%s]}"
            .formatted(entry(arm64, "arm64"), entry(amd64, "amd64"));
    byte[] bytes = index.getBytes(StandardCharsets.UTF_8);
    Files.write(blob(Digest.of(bytes)), bytes);
    Files.writeString(
        layout.resolve("index.json"),
        """
        {"schemaVersion":2,"manifests":[{"mediaType":"%s","digest":"%s","size":%d,
        "annotations":{"org.opencontainers.image.ref.name":"multi"}}]}
        """
            .formatted(MediaTypes.OCI_INDEX, Digest.of(bytes), bytes.length));
    ForeignTool.sh(work, "skopeo copy -q oci:layout:multi dir:copy");
    var source = new OciLayout(layout);
    assertThat(source.resolve("multi").descriptor()).isEqualTo(amd64);
    assertThat(work.resolve("copy/manifest.json")).hasSameBinaryContentAs(blob(amd64.digest()));
    assertThat(source.resolve("multi", new Platform("linux", "arm64")).descriptor())
        .isEqualTo(arm64);
  }

  private static String entry(Descriptor manifest, String architecture) {
    return """
    {"mediaType":"%s","digest":"%s","size":%d,"platform":{"os":"linux","architecture":"%s"}}
    """
        .formatted(manifest.mediaType(), manifest.digest(), manifest.size(), architecture);
  }
}
