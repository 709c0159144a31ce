package dev.platter.node;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.platter.dialect.Manifests;
import dev.platter.dialect.Objects;
import dev.platter.image.oci.OciLayoutWriter;
import dev.platter.image.oci.Platform;
import dev.platter.lab.Shell;
import dev.platter.model.Identity;
import dev.platter.model.IdentityKey;
import dev.platter.model.ImageLogins;
import dev.platter.model.PlatterException;
import dev.platter.node.libvirt.PrivateLibvirtExtension;
import dev.platter.node.move.Credentials;
import dev.platter.node.move.MoveServer;
import dev.platter.node.move.MoveSource;
import dev.platter.plan.VmKey;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * A disk moves from one node to another, and one of them is killed on the way: there is one disk
 * that a VM can have, or none for a while, and in the end it is on the other node.
 */
class MoveSweepTest {
  private static final IdentityKey PET = new IdentityKey("default", "pet");

  @RegisterExtension static final PrivateLibvirtExtension HERE = new PrivateLibvirtExtension();
  @RegisterExtension static final PrivateLibvirtExtension THERE = new PrivateLibvirtExtension();

  @TempDir static Path work;
  private static String image;
  private static Path random;

  private final Credentials own = Credentials.make("here");
  private Node here;
  private Node there;
  private MoveServer server;
  private Credentials served;
  private Path disk;

  /** What a guest sees of it. */
  private Path flat;

  private @Nullable Path hidden;

  @BeforeAll
  static void makeImage() throws IOException {
    random = work.resolve("random");
    var bytes = new byte[5 << 20];
    new Random(3).nextBytes(bytes);
    Files.write(random, bytes);
    var file = work.resolve("image.qcow2");
    Shell.run("qemu-img", "create", "-q", "-f", "qcow2", file, 8 << 20);
    Shell.run("qemu-io", "-f", "qcow2", "-c", "write -q -P 17 1M 2M", file);
    var layout = work.resolve("layout");
    new OciLayoutWriter(layout).add("t", Platform.LINUX_AMD64, "image.qcow2", file);
    var digest = Shell.run("skopeo", "inspect", "--format", "{{.Digest}}", "oci:" + layout + ":t");
    image = "oci:" + layout + "@" + digest.strip();
  }

  private static Path home(String name) {
    return work.resolve(name);
  }

  private static Node open(String name, String uri, Progress progress) throws IOException {
    Files.createDirectories(home(name));
    return LocalNode.open(Sweep.config(home(name), uri), progress);
  }

  @BeforeEach
  void write() throws IOException {
    here = open("here", HERE.uri(), Progress.NONE);
    there = open("there", THERE.uri(), Progress.NONE);
    disk = there.identities().ensure(pet()).file();
    Shell.run("qemu-io", "-f", "qcow2", "-c", "write -q -s " + random + " 20M 5M", disk);
    Shell.run("qemu-io", "-f", "qcow2", "-c", "write -q -P 4 40M 1M", disk);
    Shell.run("qemu-io", "-f", "qcow2", "-c", "write -q -P 6 1M 64k", disk);
    Shell.run("qemu-io", "-f", "qcow2", "-c", "write -q -z 2M 128k", disk);
    flat = work.resolve("flat.raw");
    Shell.run("qemu-img", "convert", "-f", "qcow2", "-O", "raw", disk, flat);
    serve();
  }

  private void serve() throws IOException {
    serve(there);
  }

  private void serve(Node source) throws IOException {
    served = Credentials.make("there");
    server =
        MoveServer.start(
            new InetSocketAddress(InetAddress.getLoopbackAddress(), 0),
            served,
            _ -> Optional.of("here"),
            (_, key, uid, whole) -> source.moves().lend(key, uid, whole),
            _ -> {});
  }

  @AfterEach
  void removeAll() throws IOException {
    server.close();
    show();
    here.moves().abandon(PET);
    there.moves().abandon(PET);
    here.identities().remove(PET);
    there.identities().remove(PET);
    here.close();
    there.close();
    for (var home : List.of("here", "there")) {
      var layout = Sweep.config(home(home), "").layout();
      assertThat(Sweep.names(layout.pool("volumes"))).isEmpty();
      for (var stage : IdentityRecords.Stage.values()) {
        assertThat(Sweep.names(layout.identities(stage.word()))).as(home + " " + stage).isEmpty();
      }
    }
  }

  private static Identity pet() {
    var text =
        "kind: VirtletVMIdentity\nmetadata: {name: pet, uid: uid-1}\nspec: {image: \"%s\", size: 64Mi}\n"
            .formatted(image);
    var found = Manifests.objects("id.yaml", text).identities().identities().get(PET);
    return java.util.Objects.requireNonNull(found);
  }

  private MoveSource source() {
    return new MoveSource(
        new InetSocketAddress(InetAddress.getLoopbackAddress(), server.port()),
        served.fingerprint());
  }

  private IdentityDisk receive() throws IOException {
    return here.moves().receive(pet(), ImageLogins.NONE, source(), own, Duration.ZERO);
  }

  private void assertSame(Path moved) {
    Shell.run("qemu-img", "check", "-q", "-f", "qcow2", moved);
    assertThat(Shell.run("qemu-img", "compare", disk, moved)).contains("identical");
    assertThat(Shell.run("qemu-img", "info", moved))
        .contains("backing file: " + home("here").resolve("state/images"));
  }

  /** Where the image comes from has nothing of this name any more. */
  private void hide(Path name) throws IOException {
    Files.move(name, away(name));
    hidden = name;
  }

  private static Path away(Path name) {
    return name.resolveSibling(name.getFileName() + ".away");
  }

  private void show() throws IOException {
    if (hidden != null) {
      Files.move(away(hidden), hidden);
      hidden = null;
    }
  }

  private void assertWhole(IdentityDisk moved) throws IOException {
    Shell.run("qemu-img", "check", "-q", "-f", "qcow2", moved.file());
    assertThat(Shell.run("qemu-img", "compare", flat, moved.file())).contains("identical");
    assertThat(Shell.run("qemu-img", "info", moved.file())).doesNotContain("backing file");
    assertThat(moved.isWhole()).isTrue();
  }

  @Test
  void aDiskMovesAndIsOneDiskAllTheTime() throws IOException {
    var moved = receive();
    assertSame(moved.file());
    assertThat(there.identities().isUsable(PET)).as("it may have arrived").isFalse();
    assertThat(here.identities().isUsable(PET)).as("nobody has said so").isFalse();
    assertThat(there.identities().find(PET)).isPresent();
    here.moves().arrived(PET);
    assertThat(here.identities().isUsable(PET)).isTrue();
    assertThat(there.identities().remove(PET)).isTrue();
    assertThat(disk).doesNotExist();
    assertThat(here.identities().list()).hasSize(1);
  }

  @Test
  void aDiskThatStaysAfterAllIsUsableAgain() throws IOException {
    receive();
    there.moves().keep(PET);
    assertThat(there.identities().isUsable(PET)).isTrue();
    Shell.run("qemu-io", "-f", "qcow2", "-c", "write -q -P 5 41M 1M", disk);
    assertSame(receive().file());
    here.moves().abandon(PET);
    assertThat(here.moves().coming()).isEmpty();
    there.moves().keep(PET);
  }

  @Test
  void noVmStartsOnADiskThatLeaves() throws IOException {
    there.moves().lend(PET, "uid-1", false);
    var objects =
        Manifests.objects(
            "pod.yaml",
            """
            kind: Pod
            metadata:
              name: user
              annotations:
                kubernetes.io/target-runtime: virtlet.cloud
                VirtletVMIdentitySet: pets
                VirtletVMIdentityName: pet
            spec: {containers: [{name: vm, image: "%s"}]}
            """
                .formatted(image),
            Objects.of(dev.platter.model.Identities.of(pet())));
    assertThatThrownBy(() -> there.run(objects.vms().getFirst(), objects))
        .isInstanceOf(PlatterException.class)
        .hasMessageContaining("the disk of the identity default/pet is not at " + disk);
    assertThat(there.list()).isEmpty();
    assertThat(there.identities().users(PET)).isEqualTo(List.<VmKey>of());
    assertThatThrownBy(() -> there.moves().lend(PET, "uid-2", false))
        .hasMessageContaining("is not there");
  }

  @Test
  void aDiskComesWithItsImageWhenThatCannotBeHad() throws IOException {
    here.collect();
    hide(work.resolve("layout"));
    assertThatThrownBy(
            () ->
                here.moves().receive(pet(), ImageLogins.NONE, source(), own, Duration.ofMinutes(5)))
        .isInstanceOfSatisfying(
            PlatterException.class,
            e -> {
              assertThat(e).hasMessageContaining("the image " + image);
              assertThat(e.next())
                  .contains("for 300 seconds, the disk comes with all of its image");
            });
    assertThat(there.identities().isUsable(PET)).as("it was not even asked for").isTrue();
    var moved = receive();
    assertWhole(moved);
    assertThat(here.images().list()).as("nobody else gets it").isEmpty();
    here.moves().arrived(PET);
    there.identities().remove(PET);
    assertThat(here.identities().find(PET)).contains(moved);

    // It stays so: the other node could put it on the image that it still has.
    server.close();
    serve(here);
    var back = there.moves().receive(pet(), ImageLogins.NONE, source(), own, Duration.ZERO);
    assertWhole(back);
    there.moves().arrived(PET);
    assertThat(there.collect()).as("no disk lies on it").hasSize(1);
    assertThat(here.identities().remove(PET)).isTrue();
  }

  @Test
  void anImageThatIsHereNeedsNobody() throws IOException {
    here.identities().ensure(other());
    here.close();
    here = open("here", HERE.uri(), Progress.NONE);
    hide(work.resolve("layout"));
    assertSame(receive().file());
    here.identities().remove(other().key());
  }

  /** What the process that is killed does: one end of the move or the other. */
  public static void main(String[] args) throws Exception {
    work = Path.of(args[2]);
    image = args[4];
    var killer = new KilledProcess.Killer(args[1], List.of());
    switch (args[0]) {
      case "receive" -> {
        try (var node = open("here", args[3], killer)) {
          var address =
              new InetSocketAddress(InetAddress.getLoopbackAddress(), Integer.parseInt(args[5]));
          node.moves()
              .receive(
                  pet(),
                  ImageLogins.NONE,
                  new MoveSource(address, args[6]),
                  Credentials.make("here"),
                  Duration.ZERO);
        }
      }
      case "abandon" -> {
        try (var node = open("here", args[3], killer)) {
          node.moves().abandon(PET);
        }
      }
      case "remove" -> {
        try (var node = open("there", args[3], killer)) {
          node.identities().remove(PET);
        }
      }
      default -> throw new IllegalArgumentException(args[0]);
    }
  }

  private void kill(String command, String moment, String uri) throws Exception {
    var died =
        KilledProcess.run(
            MoveSweepTest.class,
            command,
            moment,
            work.toString(),
            uri,
            image,
            String.valueOf(server.port()),
            served.fingerprint());
    assertThat(died).as(command + " died at " + moment).isTrue();
  }

  @ParameterizedTest
  @ValueSource(strings = {"before:CreateOverlay", "bytes", "after:CreateOverlay"})
  void theOneThatFetchesIsKilled(String moment) throws Exception {
    here.identities().ensure(other()); // The image is there, so that only the disk is fetched.
    kill("receive", moment, HERE.uri());
    here.tidy();
    assertThat(here.identities().isUsable(PET)).isFalse();
    assertThat(here.moves().coming()).hasSize(1);
    assertSame(receive().file());
    here.moves().arrived(PET);
    there.identities().remove(PET);
    assertThat(here.identities().isUsable(PET)).isTrue();
    here.identities().remove(other().key());
  }

  @ParameterizedTest
  @ValueSource(strings = {"before:CreateOverlay", "bytes", "after:CreateOverlay"})
  void theOneThatFetchesAllIsKilled(String moment) throws Exception {
    here.collect();
    hide(work.resolve("layout"));
    kill("receive", moment, HERE.uri());
    here.tidy();
    assertThat(here.identities().isUsable(PET)).isFalse();
    assertThat(here.moves().coming()).singleElement().matches(IdentityDisk::isWhole);
    show(); // What has come is not thrown away for that.
    assertWhole(receive());
    here.moves().arrived(PET);
    there.identities().remove(PET);
    assertThat(here.identities().isUsable(PET)).isTrue();
  }

  @ParameterizedTest
  @ValueSource(strings = {"beforeUndo:CreateOverlay", "afterUndo:CreateOverlay"})
  void theOneThatBeginsAnewWithTheImageIsKilled(String moment) throws Exception {
    kill("receive", "before:CreateOverlay", HERE.uri());
    assertThat(here.moves().coming()).singleElement().matches(disk -> !disk.isWhole());
    // As if it had died before the image was here.
    Shell.run("rm", "-r", home("here").resolve("state/images"));
    hide(work.resolve("layout"));
    kill("receive", moment, HERE.uri());
    here.tidy();
    assertThat(here.moves().coming()).isEmpty();
    assertWhole(receive());
    here.moves().arrived(PET);
  }

  private static Identity other() {
    var key = new IdentityKey("default", "other");
    return new Identity(key, "uid-9", null, pet().spec());
  }

  @Test
  void theOneThatHasItIsKilledAndStillKnowsThatItLeaves() throws Exception {
    there.moves().lend(PET, "uid-1", false);
    server.close();
    there.close();
    there = open("there", THERE.uri(), Progress.NONE); // Nothing of it was in memory only.
    there.tidy();
    assertThat(there.identities().isUsable(PET)).isFalse();
    serve();
    assertSame(receive().file());
    here.moves().arrived(PET);
  }

  @ParameterizedTest
  @ValueSource(strings = {"beforeUndo:CreateOverlay", "afterUndo:CreateOverlay"})
  void theOneThatRemovesItsCopyIsKilled(String moment) throws Exception {
    var moved = receive().file();
    assertSame(moved);
    here.moves().arrived(PET);
    kill("remove", moment, THERE.uri());
    there.tidy();
    assertThat(disk).doesNotExist();
    assertThat(there.identities().list()).isEmpty();
    assertThat(moved).exists();
  }

  @ParameterizedTest
  @ValueSource(strings = {"beforeUndo:CreateOverlay", "afterUndo:CreateOverlay"})
  void theOneThatGivesUpIsKilled(String moment) throws Exception {
    var moved = receive().file();
    kill("abandon", moment, HERE.uri());
    here.tidy();
    assertThat(moved).doesNotExist();
    assertThat(here.moves().coming()).isEmpty();
    there.moves().keep(PET);
    assertThat(there.identities().isUsable(PET)).isTrue();
  }
}
