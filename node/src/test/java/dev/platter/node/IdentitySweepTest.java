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
import dev.platter.node.IdentityDisks.Outcome;
import dev.platter.node.image.ImageUsers;
import dev.platter.node.libvirt.PrivateLibvirtExtension;
import dev.platter.plan.StateLayout;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Identities without VMs: they are made once, many at a time, and removed; and a process that is
 * killed while it does so leaves nothing that the next command does not settle.
 */
class IdentitySweepTest {
  private static final int IMAGE_SIZE = 8 << 20;

  @RegisterExtension static final PrivateLibvirtExtension LIBVIRT = new PrivateLibvirtExtension();

  @TempDir static Path work;
  private static String image;

  @BeforeAll
  static void makeImage() throws IOException {
    var disk = work.resolve("image.qcow2");
    Shell.run("qemu-img", "create", "-q", "-f", "qcow2", disk, IMAGE_SIZE);
    Shell.run("qemu-io", "-f", "qcow2", "-c", "write -P 17 1M 2M", disk);
    var layout = work.resolve("layout");
    new OciLayoutWriter(layout).add("t", Platform.LINUX_AMD64, "image.qcow2", disk);
    var digest = Shell.run("skopeo", "inspect", "--format", "{{.Digest}}", "oci:" + layout + ":t");
    image = "oci:" + layout + "@" + digest.strip();
  }

  @AfterEach
  void removeAll() throws IOException {
    try (var node = node()) {
      for (var disk : node.identities().list()) {
        node.identities().remove(disk.identity().key());
      }
    }
    assertThat(pool()).isEmpty();
    for (var stage : IdentityRecords.Stage.values()) {
      assertThat(Sweep.names(layout().identities(stage.word()))).isEmpty();
    }
  }

  private static StateLayout layout() {
    return Sweep.config(work, "").layout();
  }

  private static Node node() {
    return LocalNode.open(Sweep.config(work, LIBVIRT.uri()), Progress.NONE);
  }

  private static List<String> pool() throws IOException {
    return Sweep.names(layout().pool("volumes"));
  }

  private static Identity identity(String name, String more) {
    return identity(image, name, more);
  }

  private static Identity identity(String image, String name, String more) {
    var text =
        "kind: VirtletVMIdentity\nmetadata: {name: %s}\nspec: {image: \"%s\"%s}\n"
            .formatted(name, image, more);
    var key = new IdentityKey("default", name);
    var found = Manifests.objects("id.yaml", text).identities().identities().get(key);
    return java.util.Objects.requireNonNull(found);
  }

  private static void assertRightBytes(IdentityDisk disk) {
    Shell.run("qemu-img", "check", "-q", "-f", "qcow2", disk.file());
    assertThat(Shell.run("qemu-io", "-r", "-f", "qcow2", "-c", "read -P 17 1M 2M", disk.file()))
        .contains("read 2097152/2097152")
        .doesNotContain("verification failed");
  }

  @Test
  void aDiskIsAnOverlayOnItsImageAndIsMadeOnce() throws IOException {
    try (var node = node()) {
      var disk = node.identities().ensure(identity("a", ""));
      assertRightBytes(disk);
      assertThat(disk.size()).isEqualTo(IMAGE_SIZE);
      assertThat(Shell.run("qemu-img", "info", disk.file()))
          .contains("backing file: " + node.layout().base(disk.place().digest()));
      var made = Files.getLastModifiedTime(disk.file());
      assertThat(node.identities().ensure(identity("a", ""))).isEqualTo(disk);
      assertThat(Files.getLastModifiedTime(disk.file())).isEqualTo(made);
      assertThat(node.identities().find(new IdentityKey("default", "a"))).contains(disk);
    }
  }

  @Test
  void aSizeGrowsADiskAndOneBelowTheImagesIsRefusedWithIt() throws IOException {
    try (var node = node()) {
      var disk = node.identities().ensure(identity("large", ", size: 1Gi"));
      assertThat(Shell.run("qemu-img", "info", disk.file())).contains("virtual size: 1 GiB");
      assertThatThrownBy(() -> node.identities().ensure(identity("small", ", size: 1Mi")))
          .isInstanceOf(PlatterException.class)
          .hasMessageContainingAll("default/small has a size of 1Mi", "has 8Mi");
      assertThat(pool()).hasSize(1);
    }
  }

  @Test
  void oneOfManyThatFailsDoesNotStandInTheWayOfTheOthers() throws IOException {
    try (var node = node()) {
      var missing = image.replaceFirst("layout@", "nowhere@");
      var wanted =
          Stream.concat(
                  IntStream.range(0, 40).mapToObj(i -> identity("many-" + i, "")),
                  Stream.of(
                      identity("small", ", size: 1Mi"),
                      identity(missing, "missing", ""),
                      identity("claim", ", type: PersistentVolume")))
              .toList();
      var outcomes = node.identities().ensure(wanted);
      assertThat(outcomes).extracting(Outcome::identity).isEqualTo(wanted);
      assertThat(outcomes.subList(0, 40)).allMatch(Outcome.Ready.class::isInstance);
      assertThat(outcomes.subList(40, 43)).allMatch(Outcome.Failed.class::isInstance);
      assertThat(pool()).hasSize(40);
      assertThat(node.identities().list()).hasSize(40);
      for (var outcome : outcomes.subList(0, 3)) {
        assertRightBytes(((Outcome.Ready) outcome).disk());
      }
    }
  }

  @Test
  void thoseThatWereMadeTogetherAreListedAndRemovedOneByOne() throws IOException {
    try (var node = node()) {
      var identities = node.identities();
      var many = IntStream.range(0, 40).mapToObj(i -> identity("many-" + i, "")).toList();
      var disks =
          identities.ensure(many).stream()
              .map(outcome -> ((Outcome.Ready) outcome).disk())
              .toList();
      assertThat(identities.list()).containsExactlyInAnyOrderElementsOf(disks);
      identities.remove(many.getFirst().key());
      assertThat(identities.find(many.getFirst().key())).isEmpty();
      assertThat(identities.find(many.get(1).key())).contains(disks.get(1));
      assertThat(identities.list())
          .containsExactlyInAnyOrderElementsOf(disks.subList(1, disks.size()));
    }
  }

  @Test
  void anotherIdentityOfTheSameNameIsRefusedUntilTheOldOneIsRemoved() throws IOException {
    try (var node = node()) {
      var identities = node.identities();
      var old = identity("a", "");
      var disk = identities.ensure(old);
      var again = new Identity(old.key(), "another-uid", old.set(), old.spec());
      assertThatThrownBy(() -> identities.ensure(again)).hasMessageContaining("a different one");
      assertThatThrownBy(() -> identities.ensure(identity("a", ", size: 1Gi")))
          .hasMessageContaining("a different one");
      assertThat(identities.remove(old.key())).isTrue();
      assertThat(disk.file()).doesNotExist();
      assertThat(identities.remove(old.key())).isFalse();
      assertThat(identities.ensure(again).file()).exists().isNotEqualTo(disk.file());
    }
  }

  @Test
  void anImageStaysAsLongAsAnIdentityUsesIt() throws IOException {
    try (var node = node()) {
      var disk = node.identities().ensure(identity("a", ""));
      ImageUsers users = new VmImages(node.layout(), VmSecrets.NONE);
      assertThat(users.of(disk.place().digest())).containsExactly("identity default/a");
      assertThat(node.collect()).isEmpty();
      assertThat(node.layout().base(disk.place().digest())).exists();
      node.identities().remove(disk.identity().key());
      assertThat(node.collect()).hasSize(1);
      assertThat(node.layout().base(disk.place().digest())).doesNotExist();
    }
  }

  /** What the process that is killed does. */
  public static void main(String[] args) throws Exception {
    work = Path.of(args[2]);
    image = args[4];
    var killer = new KilledProcess.Killer(args[1], List.of());
    try (var node = LocalNode.open(Sweep.config(work, args[3]), killer)) {
      switch (args[0]) {
        case "make" -> node.identities().ensure(both());
        case "rm" -> node.identities().remove(new IdentityKey("default", "one"));
        default -> throw new IllegalArgumentException(args[0]);
      }
    }
  }

  private static List<Identity> both() {
    return List.of(identity("one", ""), identity("two", ", size: 1Gi"));
  }

  private static void kill(String command, String moment) throws Exception {
    assertThat(
            KilledProcess.run(
                IdentitySweepTest.class, command, moment, work.toString(), LIBVIRT.uri(), image))
        .as("died at " + moment)
        .isTrue();
  }

  /** As it was before these names were given to the record of all. */
  private static void unname(String... names) throws IOException {
    Files.createLink(record("one", "making"), record("one", "ready"));
    for (var name : names) {
      Files.delete(record(name, "ready"));
    }
  }

  private static Path record(String name, String stage) {
    return layout().identity(new IdentityKey("default", name), stage);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "before:EnsureImage",
        "after:EnsureImage",
        "before:CreateOverlay",
        "unnamed",
        "halfNamed",
        "named",
        "torn",
        "after:CreateOverlay"
      })
  void killedWhileTwoAreMade(String moment) throws Exception {
    kill("make", moment.contains(":") ? moment : "after:CreateOverlay");
    var left =
        switch (moment) {
          case "unnamed" -> {
            unname("one", "two");
            yield List.<String>of();
          }
          case "halfNamed" -> {
            unname("two");
            yield List.of("one");
          }
          case "named" -> {
            unname();
            yield List.of("one", "two");
          }
          case "torn" -> {
            Files.delete(record("two", "ready"));
            Files.delete(
                layout().pool("volumes").resolve(identity("two", "").diskId() + "-root.qcow2"));
            Files.writeString(record("two", "making"), "{\"version\":2,\"id");
            yield List.of("one");
          }
          case "after:CreateOverlay" -> List.of("one", "two");
          default -> List.<String>of();
        };
    try (var node = node()) {
      node.tidy();
      var names = node.identities().list().stream().map(disk -> disk.identity().key().name());
      assertThat(names).containsExactlyElementsOf(left);
      assertThat(pool()).hasSize(left.size());
      for (var outcome : node.identities().ensure(both())) {
        assertRightBytes(((Outcome.Ready) outcome).disk());
      }
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"beforeUndo:CreateOverlay", "unrecordedUndo", "afterUndo:CreateOverlay"})
  void killedWhileOneIsRemoved(String moment) throws Exception {
    byte[] bytes;
    try (var node = node()) {
      node.identities().ensure(both());
      bytes = Files.readAllBytes(record("one", "ready"));
    }
    kill("rm", moment.contains(":") ? moment : "afterUndo:CreateOverlay");
    if (!moment.contains(":")) {
      Files.write(record("one", "removing"), bytes);
    }
    try (var node = node()) {
      node.tidy();
      assertThat(node.identities().list())
          .singleElement()
          .satisfies(disk -> assertThat(disk.identity().key().name()).isEqualTo("two"))
          .satisfies(IdentitySweepTest::assertRightBytes);
      assertThat(pool()).hasSize(1);
      assertRightBytes(node.identities().ensure(identity("one", "")));
    }
  }
}
