package dev.platter.node;

import dev.platter.node.durable.FileMutex;
import java.io.IOException;
import java.nio.file.Path;

/** A VM on its way to a node, of which it holds the lock there until this is closed. */
final class Arriving implements AutoCloseable {
  private final Arrivals arrivals;
  private final Arrival arrival;
  private final VmRecord record;
  private final IncomingQemu qemu;
  private final Sockets sockets;
  private final FileMutex lock;

  /** Where its QEMU waits for it. */
  record Sockets(Path disks, Path memory) {}

  Arriving(
      Arrivals arrivals,
      Arrival arrival,
      VmRecord record,
      IncomingQemu qemu,
      Sockets sockets,
      FileMutex lock) {
    this.arrivals = arrivals;
    this.arrival = arrival;
    this.record = record;
    this.qemu = qemu;
    this.sockets = sockets;
    this.lock = lock;
  }

  Sockets sockets() {
    return sockets;
  }

  /** Waits until all of it is here. */
  void complete() {
    qemu.complete();
  }

  /** A QEMU that ended meanwhile is found out now: the other still has all of the guest. */
  void decide() throws IOException {
    qemu.mustBeThere();
    arrivals.decide(record.plan().key(), arrival);
  }

  /** Lets the guest run. */
  void run() {
    arrivals.run(record);
  }

  void finish() throws IOException {
    arrivals.finish(record);
  }

  @Override
  public void close() throws IOException {
    lock.close();
  }
}
