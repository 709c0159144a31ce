package dev.platter.cli;

import java.io.PrintWriter;
import java.nio.charset.StandardCharsets;

/**
 * {@code platter serve} as the one program of an image that serves its own disks: what other
 * commands need is not in that image.
 */
public final class ServeMain {
  private ServeMain() {}

  public static void main(String[] args) {
    var out = new PrintWriter(System.out, true, StandardCharsets.UTF_8);
    var err = new PrintWriter(System.err, true, StandardCharsets.UTF_8);
    System.exit(Main.run(new ServeCommand(), out, err, args));
  }
}
