package dev.platter.node;

import dev.platter.node.durable.FileMutex;
import java.io.IOException;
import java.nio.file.Path;

/** A VM on its way to a node of this machine. */
final class ArrivingHere implements Arriving {
  private final Arrivals arrivals;
  private final Arrival arrival;
  private final VmRecord record;
  private final IncomingQemu qemu;
  private final Sockets sockets;
  private final FileMutex lock;

  /** Where its QEMU waits for it. */
  record Sockets(Path disks, Path memory) {}

  ArrivingHere(
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

  @Override
  public Link openDisks() throws IOException {
    return Link.to(sockets.disks());
  }

  @Override
  public Link openMemory() throws IOException {
    return Link.to(sockets.memory());
  }

  @Override
  public void complete() {
    qemu.complete();
  }

  /** A QEMU that ended meanwhile is found out now: the other still has all of the guest. */
  @Override
  public void decide() throws IOException {
    qemu.mustBeThere();
    arrivals.decide(record.plan().key(), arrival);
  }

  @Override
  public void run() {
    arrivals.run(record);
  }

  @Override
  public void finish() throws IOException {
    arrivals.finish(record);
  }

  @Override
  public void close() throws IOException {
    lock.close();
  }
}
