package dev.platter.registry;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.platter.image.lazy.DiskImage;
import dev.platter.image.oci.ExtractedDisk;
import dev.platter.image.oci.OciLayoutWriter;
import dev.platter.image.oci.Platform;
import dev.platter.image.oci.Progress;
import dev.platter.image.oci.Resolved;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Random;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Docker's own registry, filled by skopeo. */
class RealRegistryTest {
  private static final String BCRYPT_OF_SECRET =
      "$2b$05$abcdefghijklmnopqrstuuOQiyCxlgf/oeuTqixKmWdcYUh4Hjl0a";

  @TempDir Path work;
  private Path disk;
  private Path spool;
  private DockerRegistry registry;

  @BeforeEach
  void start() throws IOException {
    disk = work.resolve("vm.img");
    byte[] content = new byte[5_000_000];
    new Random(11).nextBytes(content);
    Files.write(disk, content);
    spool = Files.createDirectory(work.resolve("spool"));
    registry = new DockerRegistry(work, "");
  }

  @AfterEach
  void stop() {
    registry.close();
  }

  private RegistryClient client(String image) {
    return new RegistryClient(Reference.parse(registry.host() + "/" + image), Credentials.none());
  }

  private ExtractedDisk extract(RegistryClient client) throws IOException {
    return DiskImage.extract(client, client.resolve().manifest(), spool, Progress.NONE);
  }

  private String push(String options, String image) throws IOException {
    DockerRegistry.sh(
        work,
        "skopeo copy -q --dest-tls-verify=false %s oci:layout:v1 docker://%s/%s"
            .formatted(options, registry.host(), image));
    return DockerRegistry.sh(
            work,
            "skopeo inspect --tls-verify=false --format '{{.Digest}}' docker://%s/%s"
                .formatted(registry.host(), image))
        .strip();
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "",
        "--format v2s2",
        "--dest-decompress",
        "--dest-compress-format zstd --dest-compress"
      })
  void whatSkopeoPushesWePull(String options) throws IOException {
    new OciLayoutWriter(work.resolve("layout")).add("v1", Platform.LINUX_AMD64, "vm.img", disk);
    String digest = push(options, "disks/vm:v1");
    RegistryClient client = client("disks/vm:v1");
    assertThat(client.resolve().descriptor().digest()).hasToString(digest);
    ExtractedDisk extracted = extract(client);
    assertThat(extracted.file()).hasSameBinaryContentAs(disk);
    assertThat(extract(client("disks/vm@" + digest)).file()).hasSameBinaryContentAs(disk);
  }

  @Test
  void layersOfUmociArePulledFromTheTop() throws IOException {
    DockerRegistry.sh(
        work,
        """
        umoci init --layout layout
        umoci new --image layout:v1
        mkdir d; echo old > d/a
        umoci insert --image layout:v1 d /disk
        umoci insert --image layout:v1 --opaque d /disk
        umoci insert --image layout:v1 --whiteout /disk/a
        umoci insert --image layout:v1 vm.img /disk/b
        """);
    push("", "vm:v1");
    ExtractedDisk extracted = extract(client("vm:v1"));
    assertThat(extracted.name()).isEqualTo("b");
    assertThat(extracted.file()).hasSameBinaryContentAs(disk);
  }

  @Test
  void anIndexLeadsToTheManifestOfThePlatform() throws IOException {
    var writer = new OciLayoutWriter(work.resolve("layout"));
    var amd64 = writer.add("v1", Platform.LINUX_AMD64, "vm.img", disk);
    push("", "vm:amd64");
    Files.writeString(disk, "arm");
    var arm64 = writer.add("v1", new Platform("linux", "arm64"), "vm.img", disk);
    push("", "vm:arm64");
    String entry =
        "{\"mediaType\":\"%s\",\"digest\":\"%s\",\"size\":%d,"
            + "\"platform\":{\"os\":\"linux\",\"architecture\":\"%s\"}}";
    Files.writeString(
        work.resolve("index"),
        "{\"schemaVersion\":2,\"mediaType\":\"application/vnd.oci.image.index.v1+json\","
            + "\"manifests\":["
            + entry.formatted(arm64.mediaType(), arm64.digest(), arm64.size(), "arm64")
            + ","
            + entry.formatted(amd64.mediaType(), amd64.digest(), amd64.size(), "amd64")
            + "]}");
    DockerRegistry.sh(
        work,
        "curl -sSf -X PUT -H 'Content-Type: application/vnd.oci.image.index.v1+json'"
            + " --data-binary @index http://"
            + registry.host()
            + "/v2/vm/manifests/multi");
    RegistryClient client = client("vm:multi");
    assertThat(client.resolve().descriptor()).isEqualTo(amd64);
    Resolved arm = client.resolve("multi", new Platform("linux", "arm64"));
    assertThat(arm.descriptor()).isEqualTo(arm64);
    assertThat(DiskImage.extract(client, arm.manifest(), spool, Progress.NONE).file())
        .hasContent("arm");
  }

  @Test
  void aMissingImageIsNotFound() {
    assertThatThrownBy(() -> client("nobody:v1").resolve())
        .isInstanceOfSatisfying(
            RegistryException.class,
            e -> assertThat(e.kind()).isEqualTo(RegistryException.Kind.NOT_FOUND))
        .hasMessageContaining("has no manifest v1 of " + registry.host() + "/nobody")
        .hasMessageContaining("MANIFEST_UNKNOWN");
  }

  @Test
  void aRegistryWithPasswordsIsReadWithWhatSkopeoStored() throws IOException {
    registry.close();
    Files.writeString(work.resolve("htpasswd"), "joe:" + BCRYPT_OF_SECRET + "\n");
    registry =
        new DockerRegistry(
            work, "auth: {htpasswd: {realm: test, path: " + work.resolve("htpasswd") + "}}");
    DockerRegistry.sh(
        work,
        "skopeo login -u joe -p secret --tls-verify=false --authfile auth.json " + registry.host());
    new OciLayoutWriter(work.resolve("layout")).add("v1", Platform.LINUX_AMD64, "vm.img", disk);
    DockerRegistry.sh(
        work,
        "skopeo copy -q --dest-tls-verify=false --authfile auth.json oci:layout:v1 docker://"
            + registry.host()
            + "/vm:v1");
    Credentials stored = Credentials.parse(Files.readAllBytes(work.resolve("auth.json")));
    var client = new RegistryClient(Reference.parse(registry.host() + "/vm:v1"), stored);
    assertThat(extract(client).file()).hasSameBinaryContentAs(disk);
    assertThatThrownBy(() -> client("vm:v1").resolve())
        .isInstanceOfSatisfying(
            RegistryException.class,
            e -> assertThat(e.kind()).isEqualTo(RegistryException.Kind.UNAUTHORIZED));
  }
}
