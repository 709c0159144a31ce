package dev.platter.node;

import dev.platter.model.PlatterException;
import dev.platter.model.PlatterException.Code;
import dev.platter.model.SecretData;
import dev.platter.node.GuestCall.There;
import dev.platter.node.durable.Durable;
import dev.platter.node.move.Answer;
import dev.platter.node.move.MoveServer;
import dev.platter.plan.Plan;
import dev.platter.plan.Planned;
import dev.platter.plan.StateLayout;
import dev.platter.plan.VmKey;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.net.Socket;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;

/**
 * Takes in VMs that come from other nodes of a cluster while they run. All is done in the thread of
 * the connection on which the other node talks. When it breaks, what was begun is undone, or goes
 * on if the VM is this node's by then.
 */
public final class GuestArrivals implements MoveServer.Guests {
  /** Without a word for so long the other node is gone. */
  private static final int PATIENCE_MILLIS = 60_000;

  /** Says which VMs may come. */
  public interface Host {
    /**
     * Fails if the VM may not come from there.
     *
     * @param node that it comes from, which is proved
     */
    Guest admit(String node, VmKey key, UUID move) throws IOException;
  }

  /** A VM that is expected. */
  public interface Guest extends AutoCloseable {
    /**
     * Nothing of it is made yet.
     *
     * @param sent its plan, as the node that it comes from says
     */
    Known prepare(Plan sent) throws IOException;

    /** All of it is here. Fails if it may not stay. */
    void confirm() throws IOException;

    /** It is up, or there is nothing of it here; or that is not known yet. */
    @Override
    void close() throws IOException;
  }

  /**
   * What is known here of a VM that comes, whatever the node says that it comes from.
   *
   * @param planned by {@link Node#planArriving}, with the digests of what was sent
   * @param secrets what its disks need
   */
  public record Known(Planned planned, SecretData secrets) {}

  private final StateLayout layout;
  private final Machine machine;
  private final Pools pools;
  private final ServerNames names;
  private final Executor executor;
  private final Host host;
  private final Consumer<String> log;
  private final Map<VmKey, Expected> expected = new ConcurrentHashMap<>();

  /**
   * @param joined what its disks and memory come by
   */
  private record Expected(String node, UUID move, Arriving arriving, Set<Link> joined) {
    /** The other node may have vanished without a word, and they would wait for it for hours. */
    void part() {
      joined.forEach(Link::cut);
    }
  }

  GuestArrivals(
      StateLayout layout,
      Machine machine,
      Pools pools,
      ServerNames names,
      Executor executor,
      Host host,
      Consumer<String> log) {
    this.layout = layout;
    this.machine = machine;
    this.pools = pools;
    this.names = names;
    this.executor = executor;
    this.host = host;
    this.log = log;
  }

  @Override
  public void serve(String node, Socket socket, DataInputStream in, DataOutputStream out)
      throws IOException {
    var call = GuestCall.read(in);
    try {
      switch (call.kind()) {
        case TALK -> talk(node, call, socket, in, out);
        case DISKS, MEMORY -> join(node, call, socket, out);
      }
    } catch (PlatterException e) {
      Answer.no(out, e);
    }
  }

  /** Until either side has no more to say. */
  private void join(String node, GuestCall call, Socket socket, DataOutputStream out)
      throws IOException {
    var found = expected.get(call.key());
    if (found == null || !found.move().equals(call.move()) || !found.node().equals(node)) {
      throw PlatterException.of(Code.NOT_FOUND, "the VM " + call.key() + " is not expected", "");
    }
    var arriving = found.arriving();
    try (var near =
        call.kind() == GuestCall.Kind.DISKS ? arriving.openDisks() : arriving.openMemory()) {
      Answer.yes(out);
      out.flush();
      socket.setSoTimeout(0);
      var far = Link.of(socket);
      found.joined().add(far);
      try {
        if (!found.equals(expected.get(call.key()))) {
          return; // It ended meanwhile, and has not seen this one.
        }
        var back = Thread.ofVirtual().start(() -> near.pump(far, new AtomicLong()));
        far.pump(near, new AtomicLong());
        back.join();
      } finally {
        found.joined().remove(far);
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  private void talk(
      String node, GuestCall call, Socket socket, DataInputStream in, DataOutputStream out)
      throws IOException {
    try (var guest = host.admit(node, call.key(), call.move())) {
      Durable.makeDirectories(layout.state());
      RunDirectory.ensure(layout.run());
      Answer.yes(out);
      new There(
              layout.state().toString(),
              layout.run().toString(),
              machine.libvirt(),
              pools.directories())
          .write(out);
      socket.setSoTimeout(PATIENCE_MILLIS);
      try {
        listen(node, call, guest, in, out);
      } catch (EOFException e) {
        log.accept(call.key() + ": " + node + " does not send it any more");
      } finally {
        // Whatever is left: undone, or finished if it is ours.
        var ended = expected.remove(call.key());
        if (ended != null) {
          ended.part();
          executor.settled(call.key());
        }
      }
    }
  }

  private void listen(
      String node, GuestCall call, Guest guest, DataInputStream in, DataOutputStream out)
      throws IOException {
    Arriving arriving = null;
    var before = GuestCall.Word.PATIENCE;
    try {
      while (true) {
        var word = GuestCall.word(in);
        if (word == GuestCall.Word.PATIENCE) {
          continue;
        }
        if (!word.follows(before)) {
          throw new IOException(
              "%s: %s says %s after %s".formatted(call.key(), node, word, before));
        }
        before = word;
        if (word == GuestCall.Word.PREPARE) {
          arriving = prepare(node, call, guest, in);
        } else {
          obey(Objects.requireNonNull(arriving), guest, word);
        }
        Answer.yes(out);
        out.flush();
        if (word == GuestCall.Word.FINISH) {
          return;
        }
      }
    } finally {
      if (arriving != null) {
        arriving.close();
      }
    }
  }

  private Arriving prepare(String node, GuestCall call, Guest guest, DataInputStream in)
      throws IOException {
    var sent = GuestCall.readVm(in);
    if (!sent.plan().key().equals(call.key()) || expected.containsKey(call.key())) {
      throw PlatterException.of(Code.INVALID, "the VM " + sent.plan().key() + " is another", "");
    }
    var known = guest.prepare(sent.plan());
    var vm = new SentVm(node, sent).as(known.planned(), names);
    var arrival = new Arrival(call.move(), node, false, true);
    var arriving = executor.receive(vm, arrival, known.secrets());
    expected.put(
        call.key(), new Expected(node, call.move(), arriving, ConcurrentHashMap.newKeySet()));
    return arriving;
  }

  private static void obey(Arriving arriving, Guest guest, GuestCall.Word word) throws IOException {
    switch (word) {
      case COMPLETE -> arriving.complete();
      case DECIDE -> {
        guest.confirm();
        arriving.decide();
      }
      case RUN -> arriving.run();
      case FINISH -> arriving.finish();
      case PATIENCE, PREPARE -> throw new IllegalArgumentException("not a word for QEMU: " + word);
    }
  }
}
