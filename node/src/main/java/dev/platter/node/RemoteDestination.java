package dev.platter.node;

import dev.platter.model.SecretData;
import dev.platter.node.GuestCall.Kind;
import dev.platter.node.GuestCall.Word;
import dev.platter.node.move.Answer;
import dev.platter.node.move.MoveServer;
import dev.platter.plan.Plan;
import dev.platter.plan.Relocation;
import dev.platter.plan.StateLayout;
import dev.platter.plan.VmKey;
import java.io.BufferedInputStream;
import java.io.BufferedOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.net.Socket;
import java.nio.file.Path;
import java.time.Duration;

/**
 * Another node of a cluster. Its daemon holds the VM's lock there as long as this is open, and
 * undoes what it has made when it notices that nobody talks to it any more.
 */
final class RemoteDestination implements Destination, AutoCloseable {
  private static final Duration PATIENCE = Duration.ofSeconds(10);

  /** The guest stands still meanwhile. The other node gives up earlier if it hears nothing. */
  private static final Duration ANSWER = Duration.ofSeconds(90);

  private final Journey journey;
  private final VmKey key;
  private final Socket socket;
  private final DataInputStream in;
  private final DataOutputStream out;
  private final GuestCall.There there;
  private final Duration limit;
  private final Thread patience;

  private RemoteDestination(Journey journey, VmKey key, Socket socket, Duration limit)
      throws IOException {
    this.journey = journey;
    this.key = key;
    this.socket = socket;
    this.limit = limit;
    this.in = in(socket);
    this.out = out(socket);
    new GuestCall(Kind.TALK, key, journey.move()).write(out);
    Answer.read(in);
    this.there = GuestCall.There.read(in);
    socket.setSoTimeout(0); // To fetch an image may take long; a peer that is gone is noticed.
    this.patience = Thread.ofVirtual().name("patience " + key).start(this::assure);
  }

  /** Fails if the VM may not go there. */
  static RemoteDestination open(Journey journey, VmKey key) throws IOException {
    return open(journey, key, ANSWER);
  }

  /**
   * @param limit how long an answer may take for which the guest stands still
   */
  static RemoteDestination open(Journey journey, VmKey key, Duration limit) throws IOException {
    var socket = journey.peer().connect(journey.own());
    try {
      return new RemoteDestination(journey, key, socket, limit);
    } catch (IOException | RuntimeException e) {
      socket.close();
      throw e;
    }
  }

  private static DataInputStream in(Socket socket) throws IOException {
    return new DataInputStream(new BufferedInputStream(socket.getInputStream()));
  }

  private static DataOutputStream out(Socket socket) throws IOException {
    return new DataOutputStream(
        new BufferedOutputStream(socket.getOutputStream(), MoveServer.BUFFER));
  }

  /** Copying may take hours in which there is nothing to say. */
  private void assure() {
    try {
      while (true) {
        Thread.sleep(PATIENCE);
        say(Word.PATIENCE);
      }
    } catch (InterruptedException e) {
      // It is over.
    } catch (IOException e) {
      Link.of(socket).cut(); // Who waits for an answer is to notice.
    }
  }

  private void say(Word word) throws IOException {
    synchronized (out) {
      out.writeUTF(word.name());
      out.flush();
    }
  }

  @Override
  public Relocation relocate(Plan plan, String domainXml, StateLayout from) {
    var layout = new StateLayout(Path.of(there.state()), Path.of(there.run()));
    return new Relocation(plan, from, layout, there.pools(), there.libvirt());
  }

  @Override
  public Duration perGib() {
    return journey.perGib();
  }

  @Override
  public Departure departure() {
    return new Departure(
        journey.move(), journey.node(), there.state(), there.run(), there.libvirt(), false);
  }

  /** Secrets are those of the VM's pod there. */
  @Override
  public Arriving receive(MovingVm vm, Departure departure, StateLayout from, SecretData secrets)
      throws IOException {
    synchronized (out) {
      out.writeUTF(Word.PREPARE.name());
      GuestCall.write(vm, out);
      out.flush();
    }
    Answer.read(in);
    return new Remote();
  }

  private final class Remote implements Arriving {
    private Link open(Kind kind) throws IOException {
      var line = journey.peer().connect(journey.own());
      try {
        line.setSoTimeout(0);
        new GuestCall(kind, key, journey.move()).write(out(line));
        Answer.read(new DataInputStream(line.getInputStream()));
        return Link.of(line);
      } catch (IOException | RuntimeException e) {
        line.close();
        throw e;
      }
    }

    @Override
    public Link openDisks() throws IOException {
      return open(Kind.DISKS);
    }

    @Override
    public Link openMemory() throws IOException {
      return open(Kind.MEMORY);
    }

    private void ask(Word word) throws IOException {
      socket.setSoTimeout((int) limit.toMillis());
      say(word);
      Answer.read(in);
    }

    @Override
    public void complete() throws IOException {
      ask(Word.COMPLETE);
    }

    @Override
    public void decide() throws IOException {
      ask(Word.DECIDE);
    }

    @Override
    public void run() throws IOException {
      ask(Word.RUN);
    }

    @Override
    public void finish() throws IOException {
      ask(Word.FINISH);
    }

    @Override
    public void close() throws IOException {
      RemoteDestination.this.close();
    }
  }

  @Override
  public void close() throws IOException {
    patience.interrupt();
    socket.close();
  }
}
