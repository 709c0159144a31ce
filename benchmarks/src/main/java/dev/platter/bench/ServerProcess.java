package dev.platter.bench;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;

/** A server under test, and the CPU time it uses. */
final class ServerProcess implements AutoCloseable {
  private final Process process;
  private final Path socket;

  /** Returns when the server answers. */
  ServerProcess(Path socket, List<String> command) throws IOException, InterruptedException {
    this.socket = socket;
    this.process =
        new ProcessBuilder(command)
            .redirectOutput(ProcessBuilder.Redirect.DISCARD)
            .redirectError(ProcessBuilder.Redirect.INHERIT)
            .start();
    try {
      for (int tries = 0; !Files.exists(socket); tries++) {
        if (tries == 1000 || !process.isAlive()) {
          throw new IOException(command + " does not listen");
        }
        Thread.sleep(10);
      }
      Tool.time("nbdinfo", "--size", uri());
    } catch (Throwable e) {
      close();
      throw e;
    }
  }

  String uri() {
    return "nbd+unix:///?socket=" + socket;
  }

  /** Since its start, in steps of 10 ms, which is how the kernel counts it. */
  double cpuMillis() {
    return process.info().totalCpuDuration().orElse(Duration.ZERO).toMillis();
  }

  /** From now on it runs on this processor only. */
  void pin(String processor) throws IOException, InterruptedException {
    Tool.time("taskset", "-apc", processor, Long.toString(process.pid()));
  }

  @Override
  public void close() throws IOException {
    process.destroy();
    try {
      process.waitFor();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
    Files.deleteIfExists(socket);
  }
}
