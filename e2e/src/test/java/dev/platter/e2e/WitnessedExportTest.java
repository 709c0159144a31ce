package dev.platter.e2e;

import static org.assertj.core.api.Assertions.assertThat;

import dev.platter.lab.Shell;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** That two writers of one disk are noticed, here with QEMU's own client. */
@Timeout(60)
class WitnessedExportTest {
  @TempDir Path directory;
  private WitnessedExport export;

  @BeforeEach
  void serve() {
    export = WitnessedExport.start(directory.resolve("d"), "1M", "127.0.0.1");
  }

  @AfterEach
  void end() {
    export.close();
  }

  private String uri() {
    return "nbd://%s:%d".formatted(export.address(), export.port());
  }

  private void writeOnce(int offset) {
    Shell.run("qemu-io", "-f", "raw", "-c", "write %d 512".formatted(offset), uri());
  }

  private void awaitWriters(int turns) throws InterruptedException {
    while (export.writers().size() < turns) {
      Thread.sleep(20);
    }
  }

  @Test
  void oneAfterTheOtherIsFine() {
    writeOnce(0);
    writeOnce(0);
    assertThat(export.writers()).hasSize(2);
    assertThat(export.faults()).isEmpty();
  }

  @Test
  void twoAtATimeAreNot() throws Exception {
    var first =
        new ProcessBuilder("qemu-io", "-f", "raw", uri())
            .redirectErrorStream(true)
            .redirectOutput(Files.createFile(directory.resolve("out")).toFile())
            .start();
    try (OutputStream to = first.getOutputStream()) {
      to.write("write 0 512\n".getBytes());
      to.flush();
      awaitWriters(1);
      writeOnce(512);
      to.write("write 0 512\n".getBytes());
      to.flush();
      awaitWriters(3);
      assertThat(export.faults()).singleElement().asString().contains("two writers");
    } finally {
      first.destroyForcibly();
      assertThat(first.waitFor(10, TimeUnit.SECONDS)).isTrue();
    }
  }
}
