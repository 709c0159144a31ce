package dev.platter.cluster.node;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import dev.platter.cluster.csi.PodVolume;
import dev.platter.image.raw.PinnedFile;
import dev.platter.model.PlatterException;
import java.io.IOException;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Map;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class PodDirectoryTest {
  private static final String UID = "0f8fad5b-d9cb-469f-a165-70867728950e";
  private static final String OTHER = "7c9e6679-7425-40de-944b-e07fc1f90ae7";

  @TempDir Path temp;
  private Path root;
  private PodDirectory pods;

  @BeforeEach
  void kubelet() throws IOException {
    root = Files.createDirectory(temp.resolve("kubelet"));
    // As kubelet does before it calls a driver.
    Files.createDirectories(target(UID).getParent());
    Files.createDirectories(target(OTHER).getParent());
    pods = daemon();
  }

  @AfterEach
  void stop() throws IOException {
    pods.close();
  }

  /** Answers each connection with the pod's UID, then echoes a byte for a byte. */
  private PodDirectory daemon() {
    return new PodDirectory(
        root,
        (uid, channel) -> {
          channel.write(ByteBuffer.wrap(uid.getBytes(StandardCharsets.US_ASCII)));
          var one = ByteBuffer.allocate(1);
          while (channel.read(one.clear()) > 0) {
            channel.write(one.flip());
          }
        });
  }

  private Path target(String uid) {
    return root.resolve("pods/" + uid + "/volumes/kubernetes.io~csi/platter-socket/mount");
  }

  private Path socket() {
    return target(UID).resolve("vm.sock");
  }

  private PodVolume volume(String uid) {
    return new PodVolume("csi-1", target(uid), "default", "pod", uid, "default", Map.of());
  }

  private void publish() throws IOException {
    pods.publish(volume(UID));
  }

  private void unpublish() throws IOException {
    pods.unpublish("csi-1", target(UID));
  }

  private SocketChannel connect(String uid) throws IOException {
    // The pod has a short name for the directory; here a link is one.
    var link = Files.createTempFile(temp, "l", "");
    Files.delete(link);
    Files.createSymbolicLink(link, target(uid));
    return SocketChannel.open(UnixDomainSocketAddress.of(link.resolve("vm.sock")));
  }

  private static String read(SocketChannel channel, int bytes) throws IOException {
    var buffer = ByteBuffer.allocate(bytes);
    while (buffer.hasRemaining() && channel.read(buffer) >= 0) {}
    return new String(buffer.array(), 0, buffer.position(), StandardCharsets.US_ASCII);
  }

  private static String mode(Path path) throws IOException {
    return PosixFilePermissions.toString(
        Files.getPosixFilePermissions(path, LinkOption.NOFOLLOW_LINKS));
  }

  @Test
  void eachPodHasASocketThatTellsWhichPodConnects() throws IOException {
    assertThat(socket().toString().length()).isGreaterThan(107);
    publish();
    pods.publish(volume(OTHER));
    try (var one = connect(UID);
        var other = connect(OTHER)) {
      assertThat(read(one, 36)).isEqualTo(UID);
      assertThat(read(other, 36)).isEqualTo(OTHER);
    }
  }

  @Test
  void aLauncherThatIsNotRootMayConnect() throws IOException {
    publish();
    assertThat(mode(target(UID))).isEqualTo("rwxr-xr-x");
    assertThat(mode(socket())).isEqualTo("rw-rw-rw-");
  }

  @Test
  void publishingAgainLeavesTheConnectionAlone() throws IOException {
    publish();
    try (var channel = connect(UID)) {
      assertThat(read(channel, 36)).isEqualTo(UID);
      publish();
      assertThat(pods.restore(UID)).isTrue();
      channel.write(ByteBuffer.wrap(new byte[] {'x'}));
      assertThat(read(channel, 1)).isEqualTo("x");
    }
  }

  @Test
  void publishingAgainReplacesASocketThatSomebodyTookAway() throws IOException {
    publish();
    Files.delete(socket());
    try (var imposter = ServerSocketChannel.open(StandardProtocolFamily.UNIX);
        var held = PinnedFile.open(target(UID))) {
      imposter.bind(UnixDomainSocketAddress.of(held.path().resolve("vm.sock")));
      publish();
      try (var channel = connect(UID)) {
        assertThat(read(channel, 36)).isEqualTo(UID);
      }
    }
  }

  @Test
  void theNextDaemonListensForPodsOfTheOneBefore() throws IOException {
    publish();
    pods.close();
    assertThat(socket()).exists();
    // The kernel's socket is closed when the thread that accepts has noticed.
    await()
        .untilAsserted(
            () -> assertThatThrownBy(() -> connect(UID).close()).isInstanceOf(IOException.class));
    pods = daemon();
    assertThat(pods.restore(UID)).isTrue();
    try (var channel = connect(UID)) {
      assertThat(read(channel, 36)).isEqualTo(UID);
    }
  }

  @Test
  void onlyAPodThatKubeletHasIsRestored() throws IOException {
    assertThat(pods.restore(OTHER)).isFalse();
    assertThat(pods.restore("11111111-d9cb-469f-a165-70867728950e")).isFalse();
    assertThatThrownBy(() -> pods.restore("../" + UID)).isInstanceOf(PlatterException.class);
    assertThat(target(OTHER)).doesNotExist();
  }

  @Test
  void aNewConnectionEndsTheOneBefore() throws IOException {
    publish();
    try (var first = connect(UID)) {
      assertThat(read(first, 36)).isEqualTo(UID);
      try (var second = connect(UID)) {
        assertThat(read(second, 36)).isEqualTo(UID);
        assertThat(first.read(ByteBuffer.allocate(1))).isEqualTo(-1);
      }
    }
  }

  @Test
  void unpublishingEndsTheConnectionAndRemovesSocketAndDirectory() throws IOException {
    publish();
    try (var channel = connect(UID)) {
      assertThat(read(channel, 36)).isEqualTo(UID);
      unpublish();
      assertThat(channel.read(ByteBuffer.allocate(1))).isEqualTo(-1);
    }
    assertThat(target(UID)).doesNotExist();
    assertThat(target(UID).getParent()).exists();
    unpublish();
    Files.delete(target(UID).getParent());
    unpublish();
  }

  @Test
  void anotherVolumeOfOurDriverIsRefused() throws IOException {
    var other = target(UID).getParent().resolveSibling("mine").resolve("mount");
    Files.createDirectories(other.getParent());
    var volume = new PodVolume("csi-2", other, "default", "pod", UID, "default", Map.of());
    assertThatThrownBy(() -> pods.publish(volume))
        .isInstanceOf(PlatterException.class)
        .hasMessageContaining("mine");
    assertThat(other).doesNotExist();
    publish();
    pods.unpublish("csi-2", other);
    try (var channel = connect(UID)) {
      assertThat(read(channel, 36)).isEqualTo(UID);
    }
  }

  @Test
  void aLinkInPlaceOfTheSocketIsReplacedAndWhatItLeadsToStays() throws IOException {
    var victim = victim();
    Files.createDirectory(target(UID));
    Files.createSymbolicLink(socket(), victim);
    publish();
    assertThat(Files.isSymbolicLink(socket())).isFalse();
    assertUntouched(victim);

    Files.delete(socket());
    Files.createSymbolicLink(socket(), victim);
    unpublish();
    assertThat(target(UID)).doesNotExist();
    assertUntouched(victim);
  }

  @Test
  void aLinkThatComesWhileTheSocketIsMadeIsNeverFollowed() throws Exception {
    var victim = victim();
    Files.createDirectory(target(UID));
    var stop = new AtomicBoolean();
    var attacker =
        Thread.ofPlatform()
            .start(
                () -> {
                  var link = target(UID).resolveSibling("link");
                  while (!stop.get()) {
                    try {
                      Files.createSymbolicLink(link, victim);
                      Files.move(link, socket(), java.nio.file.StandardCopyOption.REPLACE_EXISTING);
                    } catch (IOException e) {
                      // Lost this race; the next one may go better.
                    }
                  }
                });
    int refused = 0;
    for (int i = 0; i < 2000; i++) {
      try {
        publish();
      } catch (PlatterException | IOException e) {
        refused++;
      }
    }
    stop.set(true);
    attacker.join();
    assertThat(refused).as("races that the attacker won").isPositive();
    assertUntouched(victim);
  }

  @Test
  void aLinkInPlaceOfADirectoryIsRefused() throws IOException {
    var elsewhere = Files.createDirectory(temp.resolve("elsewhere"));
    Files.setPosixFilePermissions(elsewhere, PosixFilePermissions.fromString("rwx------"));
    Files.createSymbolicLink(target(UID), elsewhere);
    assertThatThrownBy(this::publish).hasMessageContaining("a symbolic link");
    assertThatThrownBy(() -> pods.restore(UID)).hasMessageContaining("a symbolic link");
    assertThatThrownBy(this::unpublish).hasMessageContaining("a symbolic link");
    Files.delete(target(UID));

    var volumes = root.resolve("pods/" + UID + "/volumes");
    Files.move(volumes, elsewhere.resolve("volumes"));
    Files.createSymbolicLink(volumes, elsewhere.resolve("volumes"));
    assertThatThrownBy(this::publish).hasMessageContaining("a symbolic link");
    assertThat(mode(elsewhere)).isEqualTo("rwx------");
    assertThat(elsewhere.resolve("volumes/kubernetes.io~csi/platter-socket")).isEmptyDirectory();
  }

  @Test
  void aDirectoryWithSomethingElseInItIsLeftAsItIs() throws IOException {
    publish();
    Files.writeString(target(UID).resolve("file"), "x");
    assertThatThrownBy(this::unpublish)
        .isInstanceOf(PlatterException.class)
        .hasMessageContaining("\"file\"");
    assertThat(socket()).exists();
    assertThat(target(UID).resolve("file")).hasContent("x");
    Files.delete(target(UID).resolve("file"));
    unpublish();
    assertThat(target(UID)).doesNotExist();
  }

  @Test
  void aDirectoryInPlaceOfTheSocketKeepsWhatIsInIt() throws IOException {
    Files.createDirectories(socket().resolve("full"));
    assertThatThrownBy(this::publish).isInstanceOf(IOException.class);
    assertThatThrownBy(this::unpublish).isInstanceOf(IOException.class);
    assertThat(socket().resolve("full")).exists();
  }

  @Test
  void kubeletsRootMayBeALink() throws IOException {
    var real = temp.resolve("real");
    Files.move(root, real);
    Files.createSymbolicLink(root, real);
    publish();
    try (var channel = connect(UID)) {
      assertThat(read(channel, 36)).isEqualTo(UID);
    }
    unpublish();
    assertThat(target(UID)).doesNotExist();
  }

  @Test
  void manyRequestsLeaveNoDescriptorsBehind() throws IOException {
    publish();
    unpublish();
    long before = descriptors();
    for (int i = 0; i < 50; i++) {
      publish();
      pods.restore(UID);
      unpublish();
      unpublish();
    }
    await().untilAsserted(() -> assertThat(descriptors()).isLessThanOrEqualTo(before + 5));
  }

  private static long descriptors() throws IOException {
    try (var open = Files.list(Path.of("/proc/self/fd"))) {
      return open.count();
    }
  }

  private Path victim() throws IOException {
    var victim = Files.writeString(temp.resolve("victim"), "precious");
    Files.setPosixFilePermissions(victim, PosixFilePermissions.fromString("rw-------"));
    return victim;
  }

  private static void assertUntouched(Path victim) throws IOException {
    assertThat(victim).hasContent("precious");
    assertThat(mode(victim)).isEqualTo("rw-------");
  }
}
