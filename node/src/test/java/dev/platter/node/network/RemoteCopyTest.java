package dev.platter.node.network;

import static dev.platter.lab.Shell.run;
import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.ClosedByInterruptException;
import java.nio.channels.ServerSocketChannel;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Copies by a real qemu-img, which is gone afterwards in every case. */
@Timeout(120)
class RemoteCopyTest {
  private static final Duration LONG = Duration.ofSeconds(60);

  @TempDir Path directory;
  private Path copy;

  @BeforeEach
  void prepare() {
    copy = directory.resolve("copy.raw");
  }

  @AfterEach
  void nobodyIsLeft() {
    assertThat(
            ProcessHandle.current()
                .children()
                .filter(child -> child.info().command().orElse("").endsWith("qemu-img")))
        .isEmpty();
  }

  private static Target file(Path disk) {
    return new Target("{\"driver\":\"file\",\"filename\":\"" + disk + "\"}", List.of());
  }

  /** It opens at once, and nothing that is read of it comes. */
  private static Target stuck(SecretValue... secrets) {
    return new Target(
        "{\"driver\":\"null-co\",\"size\":67108864,\"latency-ns\":900000000000}", List.of(secrets));
  }

  /** With three million bytes of noise, and a page of it far from them. */
  private Path disk() throws IOException {
    Path disk = directory.resolve("disk.raw");
    byte[] noise = new byte[3_000_000];
    new Random(5).nextBytes(noise);
    try (var channel =
        Files.newByteChannel(disk, StandardOpenOption.CREATE, StandardOpenOption.WRITE)) {
      channel.position(1 << 20).write(ByteBuffer.wrap(noise));
      channel.position(40 << 20).write(ByteBuffer.wrap(noise, 0, 4096));
      channel.position((64 << 20) - 1).write(ByteBuffer.wrap(new byte[1]));
    }
    return disk;
  }

  @Test
  void aDiskIsCopiedAndGrownAndItsZerosAreHoles() throws IOException {
    Path disk = disk();
    // All of it is data as far as file systems know, as with most images of Ceph.
    Path full = directory.resolve("full.raw");
    run("cp", "--sparse=never", disk, full);
    var told = new ArrayList<Long>();
    try (var begun = RemoteCopy.begin(file(full), copy)) {
      assertThat(begun.size()).isEqualTo(64 << 20);
      assertThat(begun.finish(100 << 20, (done, _) -> told.add(done))).isEqualTo(100 << 20);
    }
    assertThat(copy).hasSize(100 << 20);
    run("qemu-img", "compare", "-f", "raw", "-F", "raw", disk, copy);
    assertThat(Long.parseLong(run("stat", "-c", "%b", copy).strip()) * 512).isLessThan(3_200_000);
    assertThat(told).isSorted().last().isEqualTo(64L << 20);
  }

  @Test
  void aDiskThatLooksLikeAnotherFormatIsStillRaw() throws IOException {
    Path disk = directory.resolve("disk.qcow2");
    run("qemu-img", "create", "-f", "qcow2", disk, "1G");
    try (var begun = RemoteCopy.begin(file(disk), copy)) {
      begun.finish(0, (_, _) -> {});
    }
    run("cmp", "-n", Files.size(disk), disk, copy);
    assertThat(copy).hasSize(Math.ceilDiv(Files.size(disk), 512L) * 512);
  }

  @Test
  void aFileThatIsThereStaysAsItIs() throws IOException {
    Files.writeString(copy, "mine");
    Path disk = disk();
    assertThatThrownBy(() -> RemoteCopy.begin(file(disk), copy))
        .isInstanceOf(FileAlreadyExistsException.class);
    assertThat(copy).hasContent("mine");
  }

  @Test
  void whatQemuSaysIsTheError() {
    Target missing = file(directory.resolve("missing"));
    assertThatThrownBy(() -> RemoteCopy.begin(missing, copy))
        .isInstanceOf(IOException.class)
        .hasMessageStartingWith("cannot open the network disk: qemu-img: ")
        .hasMessageContaining("No such file or directory")
        .hasMessageNotContaining("json:");
    assertThat(copy).doesNotExist();
  }

  /** Of a disk whose second half cannot be read. */
  @Test
  void aDiskThatBreaksIsAnErrorAndNoFile() throws IOException {
    var broken =
        new Target(
            """
            {"driver":"blkdebug","image":{"driver":"file","filename":"%s"},
             "inject-error":[{"event":"none","iotype":"read","errno":5,"sector":81920}]}\
            """
                .formatted(disk()),
            List.of());
    try (var begun = RemoteCopy.begin(broken, copy)) {
      assertThatThrownBy(() -> begun.finish(0, (_, _) -> {}))
          .isInstanceOf(IOException.class)
          .hasMessageMatching(
              "the network disk could not be copied: qemu-img: error while reading at byte \\d+:"
                  + " Input/output error");
    }
    assertThat(copy).doesNotExist();
  }

  @Test
  void secretsReachQemuAndNobodyElse() throws IOException {
    var luks = LuksDisk.make(directory);
    var right = new SecretValue("k", luks.password());
    try (var begun = RemoteCopy.begin(luks.with(right), copy)) {
      assertThat(begun.finish(0, (_, _) -> {})).isEqualTo(8 << 20);
    }
    var wrong = new SecretValue("k", "Invalid password".getBytes(UTF_8));
    Path other = directory.resolve("other.raw");
    assertThatThrownBy(() -> RemoteCopy.begin(luks.with(wrong), other))
        .hasMessageContaining("***, cannot unlock any keyslot");
    assertThat(other).doesNotExist();
    try (var begun = RemoteCopy.begin(stuck(right), other)) {
      Path process = Path.of("/proc", Long.toString(begun.pid()));
      assertThat(Files.readString(process.resolve("cmdline")))
          .contains("id=k")
          .doesNotContain("horse");
      assertThat(Files.readString(process.resolve("environ"))).doesNotContain("horse");
    }
  }

  @Test
  void aSilentServerIsWaitedForOnlySoLong() throws IOException {
    Path socket = directory.resolve("silent.sock");
    try (var listener =
        ServerSocketChannel.open(StandardProtocolFamily.UNIX)
            .bind(UnixDomainSocketAddress.of(socket))) {
      var silent =
          new Target(
              "{\"driver\":\"nbd\",\"server\":{\"type\":\"unix\",\"path\":\"" + socket + "\"}}",
              List.of());
      assertThatThrownBy(() -> RemoteCopy.begin(silent, copy, Duration.ofSeconds(1), LONG))
          .isInstanceOf(IOException.class)
          .hasMessageStartingWith("the network disk did not answer within 1 s");
      assertThat(listener.isOpen()).isTrue();
    }
    assertThat(copy).doesNotExist();
  }

  @Test
  void aServerThatFallsSilentIsWaitedForOnlySoLong() throws IOException {
    try (var begun = RemoteCopy.begin(stuck(), copy, LONG, Duration.ofSeconds(1))) {
      assertThatThrownBy(() -> begun.finish(0, (_, _) -> {}))
          .isInstanceOf(IOException.class)
          .hasMessageStartingWith("the server did not answer within 1 s");
    }
    assertThat(copy).doesNotExist();
  }

  @Test
  void interruptingEndsACopy() throws Exception {
    var outcome = new AtomicReference<Throwable>();
    var copying = new AtomicReference<Thread>();
    Thread thread =
        Thread.ofPlatform()
            .start(
                () -> {
                  try (var begun = RemoteCopy.begin(stuck(), copy)) {
                    begun.finish(0, (_, _) -> copying.set(Thread.currentThread()));
                  } catch (Throwable e) {
                    outcome.set(e);
                  }
                });
    while (copying.get() == null && thread.isAlive()) {
      Thread.sleep(5);
    }
    thread.interrupt();
    thread.join();
    assertThat(outcome.get()).isInstanceOf(ClosedByInterruptException.class);
    assertThat(copy).doesNotExist();
  }

  @Test
  void aCopyThatIsGivenUpLeavesNoFile() throws IOException {
    try (var begun = RemoteCopy.begin(stuck(), copy)) {
      assertThat(begun.size()).isEqualTo(64 << 20);
      assertThat(copy).exists();
    }
    assertThat(copy).doesNotExist();
  }

  @Test
  void whenWeAreKilledQemuImgIsGoneToo() throws Exception {
    KilledOpener.runCopy(stuck(), copy);
    assertThat(copy).exists(); // the journal's to remove
  }
}
