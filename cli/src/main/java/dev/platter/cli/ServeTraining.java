package dev.platter.cli;

import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;

/**
 * What the AOT cache of the image that serves disks is made from, as {@link Training} is for all
 * else: it starts as in a container, and ends when it serves.
 */
final class ServeTraining {
  private static final int DISK = 1 << 20;
  private static final long POLL_MILLIS = 10;

  private ServeTraining() {}

  public static void main(String[] args) throws IOException, InterruptedException {
    var disk = Files.write(Files.createTempFile("platter-training-", ".raw"), new byte[DISK]);
    var said = new StringWriter();
    var out = new PrintWriter(said);
    var serving = Thread.ofPlatform().daemon().start(() -> serve(out, disk.toString()));
    while (serving.isAlive() && !said.toString().contains("/readyz")) {
      Thread.sleep(POLL_MILLIS);
    }
    Files.delete(disk);
    System.exit(serving.isAlive() ? 0 : 1);
  }

  private static void serve(PrintWriter out, String disk) {
    var here = "127.0.0.1:0";
    Main.run(new ServeCommand(), out, out, "--listen", here, "--health", here, disk);
  }
}
