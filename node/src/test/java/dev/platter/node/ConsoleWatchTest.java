package dev.platter.node;

import static org.assertj.core.api.Assertions.assertThat;

import dev.platter.lab.Shell;
import dev.platter.node.libvirt.PrivateLibvirtExtension;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.function.BooleanSupplier;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A console without end, as du sees it, of a process that stands for QEMU. */
class ConsoleWatchTest {
  private static final Duration SECOND = Duration.ofSeconds(1);

  @TempDir Path work;
  private Path log;
  private Process qemu;

  @BeforeEach
  void begin() throws IOException {
    log = Files.createFile(work.resolve("a log"));
    qemu = new ProcessBuilder("sleep", "600").start();
  }

  @AfterEach
  void end() throws Exception {
    qemu.destroyForcibly().waitFor();
    await(() -> watchers().isEmpty());
  }

  private List<Long> watchers() {
    try {
      return PrivateLibvirtExtension.processesOf(log);
    } catch (IOException e) {
      throw new AssertionError(e);
    }
  }

  private static void await(BooleanSupplier what) throws InterruptedException {
    for (var tries = 0; !what.getAsBoolean(); tries++) {
      assertThat(tries).isLessThan(300);
      Thread.sleep(100);
    }
  }

  private long mebibytes() {
    return Long.parseLong(Shell.run("du", "-m", log).split("\\s")[0]);
  }

  @Test
  void itsEndIsKeptWhereItWasAndTheRestTakesNoRoom() throws Exception {
    ConsoleWatch.ensure(qemu.pid(), log, SECOND);
    Shell.run("sh", "-c", "yes 1234567 | head -c 60M >> \"$0\"; echo end >> \"$0\"", log);
    await(() -> mebibytes() <= 17);
    assertThat(Files.size(log)).isEqualTo((60 << 20) + 4);
    assertThat(Shell.run("tail", "-n", "2", log)).isEqualTo("1234567\nend\n");
    assertThat(ConsoleRoom.next(log, 0)).isBetween(43L << 20, 44L << 20);
  }

  @Test
  void itIsWatchedOnceUntilTheProcessEnds() throws Exception {
    ConsoleWatch.ensure(qemu.pid(), log, SECOND);
    await(() -> watchers().size() == 1);
    ConsoleWatch.ensure(qemu.pid(), log, SECOND);
    Thread.sleep(500);
    assertThat(watchers()).hasSize(1);
    qemu.destroyForcibly().waitFor();
    await(() -> watchers().isEmpty());
  }
}
