package dev.platter.node.fill;

import dev.platter.image.BufferStream;
import java.io.IOException;
import java.time.Duration;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/** The bodies that a server reads at a moment, none of which may come too slowly. */
final class Paces {
  private final Duration patience;
  private final Set<Pace> open = ConcurrentHashMap.newKeySet();

  /**
   * @param patience how long a client may send next to nothing
   */
  Paces(Duration patience) {
    this.patience = patience;
  }

  /** What the thread that calls is going to read; to be closed by {@link #end}. */
  Pace begin(BufferStream body) {
    var pace = new Pace(body, patience);
    open.add(pace);
    return pace;
  }

  void end(Pace pace) {
    open.remove(pace);
    // Who was cut off is not there to be answered; the thread is the server's.
    if (pace.tooSlow()) {
      Thread.interrupted();
    }
  }

  /** Now and then. */
  void check() {
    open.forEach(Pace::check);
  }

  /** Cuts off all from whom nothing comes; returns whether there was one. */
  boolean cutStill(Duration still) {
    return open.stream().filter(pace -> pace.cutIfStill(still)).count() > 0;
  }

  /** Who still sends must not find the connection closed before they have read the answer. */
  void drain(BufferStream body, long most) {
    var pace = begin(body);
    byte[] sink = new byte[64 << 10];
    try {
      long left = most;
      for (int n; left > 0 && (n = pace.read(sink)) >= 0; left -= n) {}
    } catch (IOException e) {
      // They are gone, as they may be.
    } finally {
      end(pace);
    }
  }
}
