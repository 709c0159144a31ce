package dev.platter.node;

import dev.platter.model.PlatterException;
import dev.platter.model.PlatterException.Code;
import dev.platter.plan.VmKey;
import java.io.IOException;
import java.nio.file.Files;
import java.util.function.Consumer;

/** Another node of this machine, whose records can be read. */
final class NeighbourNode implements OtherNode {
  private final Departure departure;
  private final Departures.Peers peers;
  private final MigrationRecords theirs;
  private final Consumer<Exception> broken;

  NeighbourNode(Departure departure, Departures.Peers peers, Consumer<Exception> broken) {
    this.departure = departure;
    this.peers = peers;
    this.theirs = new MigrationRecords(departure.layout());
    this.broken = broken;
  }

  @Override
  public boolean settle(VmKey key) throws IOException {
    if (theirs.decided(key, departure)) {
      goOn(key);
    } else {
      undo(key);
    }
    return theirs.decided(key, departure);
  }

  /** Afterwards the VM is that node's or there is nothing of it there. */
  @Override
  public void undo(VmKey key) throws IOException {
    var there = departure.layout();
    // All that was handed over has an arrival; a directory without may be one that is not mounted.
    if (!Files.isDirectory(departure.handed() ? there.arrivals() : there.state())) {
      throw PlatterException.of(
          Code.UNAVAILABLE,
          "the VM %s was moving to the node in %s, which is not there, and may run there"
              .formatted(key, departure.state()),
          "Make it available; or remove the VM here with 'platter rm --force'.");
    }
    try (var node = peers.open(there, departure.libvirt())) {
      node.settle(key);
    }
  }

  /** If the guest cannot go on there now, it does by a later command there. */
  private void goOn(VmKey key) {
    try (var node = peers.open(departure.layout(), departure.libvirt())) {
      node.settleIfIdle(key, broken::accept);
    } catch (IOException | PlatterException e) {
      broken.accept(e);
    }
  }

  @Override
  public void forget(VmKey key) throws IOException {
    theirs.forgetArrival(key, departure);
  }
}
