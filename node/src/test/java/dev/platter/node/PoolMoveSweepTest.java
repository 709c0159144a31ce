package dev.platter.node;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.platter.dialect.Manifests;
import dev.platter.image.oci.OciLayoutWriter;
import dev.platter.image.oci.Platform;
import dev.platter.lab.Shell;
import dev.platter.model.Identity;
import dev.platter.model.IdentityKey;
import dev.platter.model.PlatterException;
import dev.platter.node.libvirt.PrivateLibvirtExtension;
import dev.platter.plan.StateLayout;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * The disk of an identity moves to another pool of its machine, in the same file system or in
 * another, and the process is killed on the way: there is one disk, with all its bytes.
 */
class PoolMoveSweepTest {
  private static final IdentityKey PET = new IdentityKey("default", "pet");

  @RegisterExtension static final PrivateLibvirtExtension LIBVIRT = new PrivateLibvirtExtension();

  @TempDir static Path work;
  private static Path elsewhere;
  private static String image;
  private Node node;

  @BeforeAll
  static void makeImage() throws IOException {
    var file = work.resolve("image.qcow2");
    Shell.run("qemu-img", "create", "-q", "-f", "qcow2", file, 8 << 20);
    var layout = work.resolve("layout");
    new OciLayoutWriter(layout).add("t", Platform.LINUX_AMD64, "image.qcow2", file);
    var digest = Shell.run("skopeo", "inspect", "--format", "{{.Digest}}", "oci:" + layout + ":t");
    image = "oci:" + layout + "@" + digest.strip();
    elsewhere = Files.createTempDirectory(Path.of("/dev/shm"), "pool");
    Files.writeString(
        work.resolve("node.yaml"),
        "annotations: {kubevirt.io/storage.usage-type.memory: " + elsewhere + "}\n");
  }

  @AfterAll
  static void removeElsewhere() throws IOException {
    Files.delete(elsewhere);
  }

  private static Node open(String uri, Progress progress) {
    var config =
        new NodeConfig(
            layout(),
            Optional.of(uri),
            Optional.empty(),
            List.of(),
            Optional.of(work.resolve("node.yaml")));
    return LocalNode.open(config, progress);
  }

  private static StateLayout layout() {
    return new StateLayout(work.resolve("state"), work.resolve("run"));
  }

  private static Path pool(String name) {
    return name.equals("memory") ? elsewhere : layout().pool(name);
  }

  private static Identity identity(String more) {
    var text =
        "kind: VirtletVMIdentity\nmetadata: {name: pet%s}\nspec: {image: \"%s\", size: 64Mi}\n"
            .formatted(more, image);
    var found = Manifests.objects("id.yaml", text).identities().identities().get(PET);
    return Objects.requireNonNull(found);
  }

  @BeforeEach
  void write() throws IOException {
    node = open(LIBVIRT.uri(), Progress.NONE);
    var disk = node.identities().ensure(identity(""));
    Shell.run("qemu-io", "-f", "qcow2", "-c", "write -q -P 7 20M 5M", disk.file());
  }

  @AfterEach
  void removeAll() throws IOException {
    node.identities().remove(PET);
    node.close();
    for (var pool : List.of("volumes", "default", "memory")) {
      assertThat(Sweep.names(pool(pool))).as(pool).isEmpty();
    }
    for (var stage : IdentityRecords.Stage.values()) {
      assertThat(Sweep.names(layout().identities(stage.word()))).as(stage.word()).isEmpty();
    }
  }

  private void assertIsIn(String pool) throws IOException {
    assertThat(node.identities().isUsable(PET)).isTrue();
    var disk = node.identities().list().getFirst();
    assertThat(disk.place().pool()).isEqualTo(pool);
    assertThat(disk.file()).hasParent(pool(pool));
    for (var other : List.of("volumes", "default", "memory")) {
      assertThat(Sweep.names(pool(other))).hasSize(other.equals(pool) ? 1 : 0);
    }
    Shell.run("qemu-img", "check", "-q", "-f", "qcow2", disk.file());
    assertThat(Shell.run("qemu-io", "-r", "-f", "qcow2", "-c", "read -P 7 20M 5M", disk.file()))
        .contains("read 5242880/5242880")
        .doesNotContain("verification failed");
  }

  @ParameterizedTest
  @ValueSource(strings = {"default", "memory", "volumes"})
  void aDiskMovesToAnotherPool(String pool) throws IOException {
    var moved = node.identities().move(PET, pool);
    assertIsIn(pool);
    assertThat(node.identities().find(PET)).contains(moved);
    assertThat(node.identities().ensure(identity(""))).isEqualTo(moved);
    node.identities().move(PET, "volumes");
    assertIsIn("volumes");
  }

  @Test
  void whatCannotMoveStays() throws IOException {
    var identities = node.identities();
    assertThatThrownBy(() -> identities.move(PET, "nowhere"))
        .isInstanceOf(PlatterException.class)
        .hasMessageContaining("no pool nowhere");
    assertThatThrownBy(() -> identities.move(new IdentityKey("default", "none"), "default"))
        .hasMessageContaining("no identity default/none");
    var name = String.valueOf(identities.find(PET).orElseThrow().file().getFileName());
    Files.createDirectories(pool("default"));
    var foreign = Files.writeString(pool("default").resolve(name), "somebody's");
    assertThatThrownBy(() -> identities.move(PET, "default")).hasMessageContaining("exists");
    assertThat(foreign).hasContent("somebody's");
    Files.delete(foreign);
    assertIsIn("volumes");
  }

  @Test
  void theDiskOfAClusterIsMovedByTheCluster() throws IOException {
    node.identities().remove(PET);
    node.identities().ensure(identity(", uid: uid-1"));
    assertThatThrownBy(() -> node.identities().move(PET, "default"))
        .hasMessageContaining("is a cluster's");
  }

  /** What the process that is killed does. */
  public static void main(String[] args) throws Exception {
    work = Path.of(args[2]);
    try (var node = open(args[3], new KilledProcess.Killer(args[1], List.of()))) {
      node.identities().move(PET, args[0]);
    }
  }

  @ParameterizedTest
  @CsvSource({
    "default, before:CreateOverlay,     volumes",
    "default, after:CreateOverlay,      volumes",
    "memory,  after:CreateOverlay,      volumes",
    "memory,  beforeUndo:CreateOverlay, memory",
    "default, afterUndo:CreateOverlay,  default"
  })
  void killedOnTheWay(String pool, String moment, String where) throws Exception {
    var died =
        KilledProcess.run(PoolMoveSweepTest.class, pool, moment, work.toString(), LIBVIRT.uri());
    assertThat(died).as("died at " + moment).isTrue();
    node.tidy();
    assertIsIn(where);
    node.identities().move(PET, pool);
    assertIsIn(pool);
  }

  @ParameterizedTest
  @ValueSource(strings = {"begun", "switched"})
  void killedBetweenTwoChangesOfRecords(String moment) throws Exception {
    KilledProcess.run(
        PoolMoveSweepTest.class,
        "default",
        moment.equals("begun") ? "before:CreateOverlay" : "beforeUndo:CreateOverlay",
        work.toString(),
        LIBVIRT.uri());
    var from = moment.equals("begun") ? "leaving" : "removing";
    var to = moment.equals("begun") ? "ready" : "leaving";
    Files.move(layout().identity(PET, from), layout().identity(PET, to));
    node.tidy();
    assertIsIn(moment.equals("begun") ? "volumes" : "default");
  }
}
