package dev.platter.lab;

import static java.nio.file.StandardOpenOption.APPEND;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class ConsoleTest {
  private static final Duration SOON = Duration.ofMillis(200);

  @TempDir Path dir;

  private Path log(String text) throws IOException {
    return Files.writeString(dir.resolve("console.log"), text);
  }

  @Test
  void awaitFindsALineThatIsWrittenLater() throws Exception {
    Path log = dir.resolve("console.log");
    Thread writer =
        Thread.ofPlatform()
            .start(
                () -> {
                  try {
                    Thread.sleep(100);
                    Files.writeString(log, "@@UP 1.0\r\n@@READY 2.5\r\n");
                  } catch (IOException | InterruptedException e) {
                    throw new IllegalStateException(e);
                  }
                });
    assertThat(Console.at(log).await("^@@READY", Duration.ofSeconds(10))).isEqualTo("@@READY 2.5");
    writer.join();
  }

  @Test
  void theSamePromptHasToAppearAgain() throws Exception {
    Path log = log("# ");
    Console console = Console.at(log);
    console.await("# $", SOON);
    assertThatThrownBy(() -> console.await("# $", SOON)).isInstanceOf(AssertionError.class);
    Files.writeString(log, "ls\nfile\n# ", APPEND);
    assertThat(console.await("# $", SOON)).isEqualTo("# ");
  }

  @Test
  void whatNeverComesFailsWithTheEndOfTheConsole() throws Exception {
    Console console = Console.at(log("booting\npanic: no root\n"));
    assertThatThrownBy(() -> console.await("@@READY", SOON))
        .isInstanceOf(AssertionError.class)
        .hasMessageContainingAll("@@READY", "panic: no root");
  }

  @Test
  void aGuestThatIsGoneIsNotWaitedFor() throws Exception {
    Console console = Console.at(log("x\n"), () -> false);
    assertThatThrownBy(() -> console.await("@@READY", Duration.ofHours(1)))
        .hasMessageContaining("the guest is gone");
  }

  @Test
  void diskLinesBecomeRecords() throws Exception {
    Console console =
        Console.at(
            log(
                """
                @@UP 1.0
                @@DISK sda serial=root size=67108864 ro=0 pci=0000:00:02.0 hctl=0:0:0:0 sha1M=aa
                @@DISK sr0 serial= size=2048 ro=1 pci= hctl= sha1M=bb sha256=cc
                """));
    assertThat(console.disks())
        .containsExactly(
            new GuestDisk("sda", "root", 67108864, false, "aa", Optional.empty()),
            new GuestDisk("sr0", "", 2048, true, "bb", Optional.of("cc")));
    assertThat(console.disk("root").name()).isEqualTo("sda");
    assertThatThrownBy(() -> console.disk("other")).hasMessageContaining("serial other");
  }

  @Test
  void aDiskLineCutShortIsAnError() throws Exception {
    Console console = Console.at(log("@@DISK sda serial=root size=1\n"));
    assertThatThrownBy(console::disks).hasMessageContaining("no ro=");
  }
}
