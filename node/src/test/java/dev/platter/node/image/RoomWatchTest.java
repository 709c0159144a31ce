package dev.platter.node.image;

import static org.assertj.core.api.Assertions.assertThat;

import dev.platter.node.libvirt.PrivateLibvirtExtension;
import java.io.IOException;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.channels.ServerSocketChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.function.BooleanSupplier;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A process that stands for QEMU, and a daemon that leaves a line in a file. */
class RoomWatchTest {
  private static final Duration SECOND = Duration.ofSeconds(1);
  private static final long ALL_THERE_IS = 1L << 60;

  @TempDir Path work;
  private Path disk;
  private Path started;
  private Path socket;
  private Process qemu;
  private RoomWatch watch;

  @BeforeEach
  void begin() throws IOException {
    disk = Files.createDirectory(work.resolve("a pool"));
    started = work.resolve("it's started");
    socket = work.resolve("d.sock");
    qemu = new ProcessBuilder("sleep", "600").start();
    var daemon =
        List.of(
            "sh", "-c", "echo \"$2\" \"${PLATTER_DAEMON-}\" >>\"$1\"", "d", "" + started, "a  *");
    watch =
        new RoomWatch(
            socket,
            work.resolve("log"),
            daemon,
            environment -> environment.keySet().retainAll(Set.of("PATH")));
  }

  @AfterEach
  void end() throws Exception {
    qemu.destroyForcibly().waitFor();
    await(() -> watchers().isEmpty());
  }

  /** Those that were started here, without what they start themselves. */
  private List<Long> watchers() {
    try {
      return PrivateLibvirtExtension.processesOf(disk).stream()
          .filter(
              pid ->
                  ProcessHandle.of(pid)
                      .flatMap(ProcessHandle::parent)
                      .filter(ProcessHandle.current()::equals)
                      .isPresent())
          .toList();
    } catch (IOException e) {
      throw new AssertionError(e);
    }
  }

  private static void await(BooleanSupplier what) throws InterruptedException {
    for (var tries = 0; !what.getAsBoolean(); tries++) {
      assertThat(tries).isLessThan(600);
      Thread.sleep(100);
    }
  }

  @Test
  void theDaemonIsStartedWhereThereIsLittleRoom() throws Exception {
    watch.ensure(qemu.pid(), List.of(disk), ALL_THERE_IS, SECOND);
    await(() -> Files.exists(started));
    await(() -> watchers().size() == 1);
    assertThat(Files.readAllLines(started)).startsWith("a  * ");
  }

  @Test
  void itIsNotStartedWhereThereIsRoomNorWhileItIsOnDuty() throws Exception {
    try (var server = ServerSocketChannel.open(StandardProtocolFamily.UNIX)) {
      server.bind(UnixDomainSocketAddress.of(socket));
      watch.ensure(qemu.pid(), List.of(disk), ALL_THERE_IS, SECOND);
      var other = new ProcessBuilder("sleep", "600").start();
      try {
        watch.ensure(other.pid(), List.of(disk), 0, SECOND);
        Thread.sleep(3000);
        assertThat(started).doesNotExist();
        server.close(); // Its name stays, as after a kill.
        assertThat(socket).exists();
        await(() -> Files.exists(started));
      } finally {
        other.destroyForcibly().waitFor();
      }
    }
  }

  @Test
  void aDaemonThatDoesNotComeIsNotStartedByEverybody() throws Exception {
    var other = new ProcessBuilder("sleep", "600").start();
    try {
      watch.ensure(qemu.pid(), List.of(disk), ALL_THERE_IS, SECOND);
      await(() -> Files.exists(started));
      watch.ensure(other.pid(), List.of(disk), ALL_THERE_IS, SECOND);
      Thread.sleep(4000);
      assertThat(Files.readAllLines(started)).hasSize(1);
    } finally {
      other.destroyForcibly().waitFor();
    }
  }

  @Test
  void eachPoolIsWatchedOnceUntilTheProcessEnds() throws Exception {
    watch.ensure(qemu.pid(), List.of(disk), 0, SECOND);
    await(() -> watchers().size() == 1);
    watch.ensure(qemu.pid(), List.of(disk), 0, SECOND);
    Thread.sleep(500);
    assertThat(watchers()).hasSize(1);
    watch.ensure(qemu.pid(), List.of(disk, Files.createDirectory(disk.resolve("b"))), 0, SECOND);
    await(() -> watchers().size() == 2);
  }
}
