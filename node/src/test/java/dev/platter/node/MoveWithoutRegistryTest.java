package dev.platter.node;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.platter.dialect.Manifests;
import dev.platter.dialect.Objects;
import dev.platter.lab.MarkerGuest;
import dev.platter.lab.Registry;
import dev.platter.lab.Shell;
import dev.platter.model.Identities;
import dev.platter.model.Identity;
import dev.platter.model.IdentityKey;
import dev.platter.model.ImageLogins;
import dev.platter.model.PlatterException;
import dev.platter.node.libvirt.PrivateLibvirtExtension;
import dev.platter.node.move.Credentials;
import dev.platter.node.move.MoveServer;
import dev.platter.node.move.MoveSource;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;

/** A disk moves to a node that never had its image, while the registry does not answer. */
class MoveWithoutRegistryTest {
  private static final IdentityKey PET = new IdentityKey("default", "pet");

  /** So long that nothing is fetched which nobody asks for. */
  private static final Duration QUIET = Duration.ofHours(1);

  @RegisterExtension static final PrivateLibvirtExtension HERE = new PrivateLibvirtExtension();
  @RegisterExtension static final PrivateLibvirtExtension THERE = new PrivateLibvirtExtension();

  @TempDir Path work;
  private final Credentials own = Credentials.make("here");
  private final Credentials served = Credentials.make("there");
  private Registry registry;
  private GuestNode here;
  private GuestNode there;
  private MoveServer server;
  private Identity pet;
  private String image;
  private Path disk;

  @BeforeEach
  void make() throws IOException {
    registry = Registry.start();
    here = node("here", HERE.uri());
    there = node("there", THERE.uri());
    image = there.pushPinned(registry, "marker", MarkerGuest.raw());
    var text =
        "kind: VirtletVMIdentity\nmetadata: {name: pet, uid: uid-1}\nspec: {image: \"%s\", size: 256Mi}\n"
            .formatted(image);
    pet =
        java.util.Objects.requireNonNull(
            Manifests.objects("id.yaml", text).identities().identities().get(PET));
    disk = there.node().identities().ensure(pet).file();
    Shell.run("qemu-io", "-f", "qcow2", "-c", "write -q -P 65 100M 1M", disk);
    server =
        MoveServer.start(
            new InetSocketAddress(InetAddress.getLoopbackAddress(), 0),
            served,
            _ -> Optional.of("here"),
            (_, key, uid, whole) -> there.node().moves().lend(key, uid, whole),
            _ -> {});
  }

  private GuestNode node(String name, String uri) {
    var home = work.resolve(name);
    return new GuestNode(home, uri, TestDaemon.command(home, uri, QUIET));
  }

  @AfterEach
  void close() throws Exception {
    server.close();
    for (var node : List.of(here, there)) {
      node.close();
    }
    registry.close();
    TestDaemon.end(work.resolve("here"));
    TestDaemon.end(work.resolve("there"));
  }

  private IdentityDisk receive() throws IOException {
    var source =
        new MoveSource(
            new InetSocketAddress(InetAddress.getLoopbackAddress(), server.port()),
            served.fingerprint());
    return here.node().moves().receive(pet, ImageLogins.NONE, source, own, Duration.ZERO);
  }

  @Test
  void aGuestBootsFromADiskThatCameWithItsImage() throws IOException {
    var digest = image.substring(image.indexOf('@') + 1);
    there.node().images().complete(image, digest, Progress.NONE);
    var flat = work.resolve("flat.raw");
    Shell.run("qemu-img", "convert", "-f", "qcow2", "-O", "raw", disk, flat);
    registry.goAway();
    var moved = receive();
    assertThat(Shell.run("qemu-img", "compare", flat, moved.file())).contains("identical");
    here.node().moves().arrived(PET);
    assertThat(there.node().identities().remove(PET)).isTrue();
    assertThat(here.layout().image(digest)).doesNotExist();

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
                VirtletCloudInitUserDataScript: |
                  #!/bin/sh
                  #marker: dd if=$(disk root) bs=1M skip=100 count=1 2>/dev/null | head -c 9
            spec: {containers: [{name: vm, image: "%s", resources: {limits: {memory: 192Mi}}}]}
            """
                .formatted(image),
            Objects.of(Identities.of(pet)));
    var vm = here.node().run(objects.vms().getFirst(), objects);
    var console = here.console(vm);
    console.await("^@@READY", GuestNode.BOOT);
    assertThat(console.lines()).contains("@@OUT AAAAAAAAA");
    assertThat(Shell.run("virsh", "-c", HERE.uri(), "domblklist", "default.user"))
        .containsPattern("sda +" + moved.file());
    here.node().remove(vm.key(), true);
    Shell.run("qemu-img", "check", "-q", moved.file());
  }

  @Test
  void anImageThatNoNodeHasInFullIsWaitedFor() throws IOException {
    registry.goAway();
    assertThatThrownBy(this::receive)
        .isInstanceOf(PlatterException.class)
        .hasMessageContaining(registry.address())
        .hasMessageContaining(
            "from the node that has the disk: the image " + image + " is not there in full");
    assertThat(there.node().identities().isUsable(PET)).isTrue();
    assertThat(here.node().moves().coming()).isEmpty();
    registry.goOn();
    var moved = receive();
    assertThat(moved.isWhole()).isFalse();
    assertThat(Shell.run("qemu-io", "-r", "-f", "qcow2", "-c", "read -P 65 100M 1M", moved.file()))
        .doesNotContain("verification failed");
    here.node().moves().arrived(PET);
  }
}
