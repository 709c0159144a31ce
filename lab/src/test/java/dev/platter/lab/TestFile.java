package dev.platter.lab;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Random;

/** Files of 4 MiB that tests offer, full of bytes that nothing produces by chance. */
final class TestFile {
  static final int SIZE = 4 << 20;

  private TestFile() {}

  static Path make(Path file) throws IOException {
    byte[] content = new byte[SIZE];
    new Random(file.getFileName().toString().hashCode()).nextBytes(content);
    return Files.write(file, content);
  }

  /** Lets QEMU write 4 KiB of 0x5a at 1 MiB into a raw disk. */
  static void mark(String disk) {
    Shell.run("qemu-io", "-f", "raw", "-c", "write -P 0x5a 1M 4k", disk);
  }

  /** Whether QEMU reads there what was written. */
  static boolean isMarked(String disk) {
    Shell.Result result =
        Shell.shell().execute("qemu-io", "-r", "-f", "raw", "-c", "read -P 0x5a 1M 4k", disk);
    return result.status() == 0 && !result.output().contains("verification failed");
  }
}
