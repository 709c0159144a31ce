package dev.platter.cli;

import dev.platter.model.PlatterException;
import dev.platter.node.ConsoleRoom;
import dev.platter.node.Node;
import dev.platter.node.VmStatus;
import dev.platter.plan.VmKey;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;

/** Copies what a VM wrote to its console to standard output. */
final class LogFollower {
  private static final long POLL_MILLIS = 200;

  private final Node node;
  private final VmKey vm;

  LogFollower(Node node, VmKey vm) {
    this.node = node;
    this.vm = vm;
  }

  /**
   * Ctrl-C is the ordinary way out of following, and so is a reader that has seen enough.
   *
   * @param follow whether to go on until the VM stops
   * @param from how many bytes to leave out
   */
  void copy(boolean follow, long from) throws IOException {
    var log = node.status(vm).consoleLog();
    // A VM whose image is still being pulled has no console yet.
    var wait = follow;
    while (wait && !Files.exists(log)) {
      wait = goesOn() && pause();
    }
    if (!Files.exists(log)) {
      return;
    }
    try (var in = Files.newInputStream(log)) {
      in.skipNBytes(ConsoleRoom.next(log, from));
      var last = false;
      while (copy(in) && follow && !last && pause()) {
        ConsoleRoom.trim(log);
        last = !goesOn();
      }
      copy(in);
    }
  }

  /** False if nobody reads any more. */
  private static boolean copy(InputStream in) throws IOException {
    in.transferTo(System.out);
    return !System.out.checkError();
  }

  boolean goesOn() throws IOException {
    try {
      return node.status(vm).phase() != VmStatus.Phase.STOPPED;
    } catch (PlatterException e) {
      return false;
    }
  }

  private static boolean pause() {
    try {
      Thread.sleep(POLL_MILLIS);
      return true;
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      return false;
    }
  }
}
