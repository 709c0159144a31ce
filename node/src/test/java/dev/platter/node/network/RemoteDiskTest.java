package dev.platter.node.network;

import static dev.platter.lab.Shell.run;
import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.platter.block.nbd.DiskCopy;
import java.io.IOException;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.ClosedByInterruptException;
import java.nio.channels.ServerSocketChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.FileTime;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Random;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Network disks through a real qemu-nbd, which is gone afterwards in every case. */
@Timeout(120)
class RemoteDiskTest {
  private static final Duration LONG = Duration.ofSeconds(60);

  @TempDir Path directory;
  private Path sockets;

  @BeforeEach
  void prepare() {
    sockets = directory.resolve("run");
  }

  private static Target file(Path disk) {
    return new Target("{\"driver\":\"file\",\"filename\":\"" + disk + "\"}", List.of());
  }

  /** A server that takes connections and says nothing. */
  private static Target silent(Path socket) {
    return new Target(
        "{\"driver\":\"nbd\",\"server\":{\"type\":\"unix\",\"path\":\"" + socket + "\"}}",
        List.of());
  }

  private Path disk() throws IOException {
    Path disk = directory.resolve("disk.raw");
    byte[] noise = new byte[3_000_000];
    new Random(5).nextBytes(noise);
    run("truncate", "-s", "64M", disk);
    try (var channel = Files.newByteChannel(disk, StandardOpenOption.WRITE)) {
      channel.position(1 << 20).write(ByteBuffer.wrap(noise));
    }
    return disk;
  }

  @Test
  void aDiskTellsItsSizeAndIsCopiedAndLeavesNothingBehind() throws IOException {
    Path disk = disk();
    Path copy = directory.resolve("copy.raw");
    ProcessHandle server;
    try (var open = RemoteDisk.open(file(disk), sockets)) {
      server = ProcessHandle.of(open.pid()).orElseThrow();
      assertThat(open.size()).isEqualTo(64 << 20);
      assertThat(DiskCopy.toNewFile(open, copy, 100 << 20, (_, _) -> {})).isEqualTo(100 << 20);
      assertThat(server.onExit()).succeedsWithin(LONG); // it did not wait for the sync
      assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(only())))
          .isEqualTo("rwx------");
    }
    assertThat(server.isAlive()).isFalse();
    assertThat(sockets).isEmptyDirectory();
    run("qemu-img", "compare", "-f", "raw", "-F", "raw", disk, copy);
  }

  private Path only() throws IOException {
    try (Stream<Path> all = Files.list(sockets)) {
      return all.toList().getFirst();
    }
  }

  @Test
  void aDiskThatLooksLikeAnotherFormatIsStillRaw() throws IOException {
    Path disk = directory.resolve("disk.qcow2");
    run("qemu-img", "create", "-f", "qcow2", disk, "1G");
    try (var open = RemoteDisk.open(file(disk), sockets)) {
      assertThat(open.size()).isEqualTo(Math.ceilDiv(Files.size(disk), 512L) * 512);
    }
  }

  @Test
  void whatQemuSaysIsTheError() {
    Target missing = file(directory.resolve("missing"));
    assertThatThrownBy(() -> RemoteDisk.open(missing, sockets))
        .isInstanceOf(IOException.class)
        .hasMessageStartingWith("cannot open the network disk: qemu-nbd: ")
        .hasMessageContaining("No such file or directory")
        .hasMessageNotContaining("json:");
    assertThat(sockets).isEmptyDirectory();
  }

  @Test
  void severalSecretsReachQemuAndNobodyElse() throws IOException {
    var luks = LuksDisk.make(directory);
    var other = new SecretValue("other", new byte[] {0, 1, (byte) 200});
    var right = new SecretValue("k-1", luks.password());
    try (var open = RemoteDisk.open(luks.with(other, right), sockets)) {
      assertThat(open.size()).isEqualTo(8 << 20);
      Path process = Path.of("/proc", Long.toString(open.pid()));
      assertThat(Files.readString(process.resolve("cmdline"))).doesNotContain("horse");
      assertThat(Files.readString(process.resolve("environ"))).doesNotContain("horse");
    }
    var wrong = new SecretValue("k-1", "Invalid password".getBytes(UTF_8));
    assertThatThrownBy(() -> RemoteDisk.open(luks.with(wrong), sockets))
        .hasMessageContaining("***, cannot unlock any keyslot");
  }

  @Test
  void optionsThatAreNoJsonObjectWithADriverAreRefused() {
    for (String wrong : List.of("", "[]", "{}", "{\"driver\":\"nbd\"},\"x\":1", "{\"driver\":1}")) {
      assertThatThrownBy(() -> new Target(wrong, List.of()))
          .isInstanceOf(IllegalArgumentException.class);
    }
  }

  @Test
  void aSilentServerIsWaitedForOnlySoLong() throws IOException {
    try (var listener = listen("silent.sock")) {
      Target target = silent(directory.resolve("silent.sock"));
      assertThatThrownBy(() -> RemoteDisk.open(target, sockets, Duration.ofSeconds(1)))
          .isInstanceOf(IOException.class)
          .hasMessageStartingWith("the network disk did not answer within 1 s");
      assertThat(sockets).isEmptyDirectory();
      assertThat(children()).isEmpty();
      assertThat(listener.isOpen()).isTrue();
    }
  }

  @Test
  void interruptingEndsTheWait() throws Exception {
    try (var listener = listen("silent.sock")) {
      var outcome = new AtomicReference<Throwable>();
      Thread opening =
          Thread.ofPlatform()
              .start(
                  () -> {
                    try {
                      RemoteDisk.open(silent(directory.resolve("silent.sock")), sockets, LONG);
                    } catch (Throwable e) {
                      outcome.set(e);
                    }
                  });
      try (var _ = listener.accept()) {
        opening.interrupt();
        opening.join();
      }
      assertThat(outcome.get()).isInstanceOf(ClosedByInterruptException.class);
      assertThat(sockets).isEmptyDirectory();
      assertThat(children()).isEmpty();
    }
  }

  private ServerSocketChannel listen(String name) throws IOException {
    return ServerSocketChannel.open(StandardProtocolFamily.UNIX)
        .bind(UnixDomainSocketAddress.of(directory.resolve(name)));
  }

  private static List<ProcessHandle> children() {
    return ProcessHandle.current()
        .children()
        .filter(child -> child.info().command().orElse("").endsWith("qemu-nbd"))
        .toList();
  }

  @Test
  void whenWeAreKilledQemuNbdIsGoneToo() throws Exception {
    KilledOpener.run(file(disk()), sockets, null);
    assertThat(only().resolve("s")).exists();
    Files.setLastModifiedTime(only(), FileTime.from(Instant.now().minus(Duration.ofMinutes(2))));
    try (var _ = RemoteDisk.open(file(disk()), sockets)) {
      assertThat(Files.list(sockets)).hasSize(1);
    }
    assertThat(sockets).isEmptyDirectory();
  }

  @Test
  void whenWeAreKilledWhileItStartsQemuNbdIsGoneToo() throws Exception {
    try (var listener = listen("silent.sock")) {
      Target target = silent(directory.resolve("silent.sock"));
      KilledOpener.run(target, sockets, listener);
    }
  }
}
