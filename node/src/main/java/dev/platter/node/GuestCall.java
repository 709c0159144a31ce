package dev.platter.node;

import dev.platter.node.move.MoveServer;
import dev.platter.plan.PlanJson;
import dev.platter.plan.Relocation;
import dev.platter.plan.VmKey;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/**
 * What a node that a VM leaves says to the one that it goes to. A connection begins with what it is
 * for and for which move. One of each move is for talking: the receiver says what it is, gets the
 * VM's description, and then each {@link Word} is answered when it is done. The others are for
 * disks and memory, as QEMU sends them.
 *
 * @param kind what the connection is for
 */
record GuestCall(Kind kind, VmKey key, UUID move) {
  /** Descriptions are some kilobytes, and take many times that to be read. */
  private static final int MOST_TEXT = 2 << 20;

  /** Seeds can have files in them. */
  private static final int MOST_BYTES = 64 << 20;

  private static final int MOST_DISKS = 1000;

  /** What connections are for. */
  enum Kind {
    TALK,
    DISKS,
    MEMORY
  }

  /** What is asked for while talking. */
  enum Word {
    /** Somebody is still there; not answered. */
    PATIENCE,
    PREPARE,
    COMPLETE,
    DECIDE,
    RUN,
    FINISH;

    /** Each is said once, in this order. */
    boolean follows(Word before) {
      return switch (this) {
        case PATIENCE -> false;
        case PREPARE -> before == PATIENCE;
        case COMPLETE -> before == PREPARE;
        case DECIDE -> before == COMPLETE;
        case RUN -> before == DECIDE;
        case FINISH -> before == RUN;
      };
    }
  }

  void write(DataOutputStream out) throws IOException {
    out.writeInt(MoveServer.GUESTS);
    out.writeUTF(kind.name());
    out.writeUTF(key.namespace());
    out.writeUTF(key.name());
    out.writeUTF(move.toString());
    out.flush();
  }

  /** After the first number. */
  static GuestCall read(DataInputStream in) throws IOException {
    var kind = one(Kind.class, in.readUTF());
    try {
      return new GuestCall(
          kind, new VmKey(in.readUTF(), in.readUTF()), UUID.fromString(in.readUTF()));
    } catch (IllegalArgumentException e) {
      throw new IOException("a move that cannot be: " + e.getMessage(), e);
    }
  }

  static Word word(DataInputStream in) throws IOException {
    return one(Word.class, in.readUTF());
  }

  private static <T extends Enum<T>> T one(Class<T> type, String name) throws IOException {
    try {
      return Enum.valueOf(type, name);
    } catch (IllegalArgumentException e) {
      throw new IOException("it speaks another language", e);
    }
  }

  /**
   * What a VM has to fit to.
   *
   * @param pools usage types with their directories
   */
  record There(String state, String run, String libvirt, Map<String, String> pools) {
    void write(DataOutputStream out) throws IOException {
      out.writeUTF(state);
      out.writeUTF(run);
      out.writeUTF(libvirt);
      out.writeInt(pools.size());
      for (var pool : pools.entrySet()) {
        out.writeUTF(pool.getKey());
        out.writeUTF(pool.getValue());
      }
      out.flush();
    }

    static There read(DataInputStream in) throws IOException {
      var state = in.readUTF();
      var run = in.readUTF();
      var libvirt = in.readUTF();
      var pools = new HashMap<String, String>();
      for (var left = count(in); left > 0; left--) {
        pools.put(in.readUTF(), in.readUTF());
      }
      return new There(state, run, libvirt, pools);
    }
  }

  static void write(MovingVm vm, DataOutputStream out) throws IOException {
    text(PlanJson.write(vm.plan()), out);
    text(vm.domainXml(), out);
    text(vm.running(), out);
    bytes(vm.seed(), out);
    out.writeInt(vm.sizes().size());
    for (var size : vm.sizes().entrySet()) {
      out.writeUTF(size.getKey());
      out.writeLong(size.getValue());
    }
    out.writeInt(vm.disks().size());
    for (var disk : vm.disks()) {
      out.writeUTF(disk.name());
      out.writeUTF(disk.device());
      out.writeUTF(disk.from());
      out.writeUTF(disk.to());
      out.writeBoolean(disk.overlay());
    }
  }

  static MovingVm readVm(DataInputStream in) throws IOException {
    try {
      var plan = PlanJson.read(text(in));
      var domain = text(in);
      var running = text(in);
      var seed = bytes(in, MOST_BYTES);
      var sizes = new HashMap<String, Long>();
      for (var left = count(in); left > 0; left--) {
        sizes.put(in.readUTF(), in.readLong());
      }
      List<Relocation.Copied> disks = new ArrayList<>();
      for (var left = count(in); left > 0; left--) {
        disks.add(
            new Relocation.Copied(
                in.readUTF(), in.readUTF(), in.readUTF(), in.readUTF(), in.readBoolean()));
      }
      return new MovingVm(plan, domain, running, seed, sizes, disks);
    } catch (IllegalArgumentException e) {
      throw new IOException("a VM that cannot be: " + e.getMessage(), e);
    }
  }

  private static int count(DataInputStream in) throws IOException {
    var count = in.readInt();
    if (count < 0 || count > MOST_DISKS) {
      throw new IOException("a list of " + count);
    }
    return count;
  }

  private static void text(String text, DataOutputStream out) throws IOException {
    bytes(text.getBytes(StandardCharsets.UTF_8), out);
  }

  private static String text(DataInputStream in) throws IOException {
    var bytes = bytes(in, MOST_TEXT);
    return bytes == null ? "" : new String(bytes, StandardCharsets.UTF_8);
  }

  private static void bytes(byte @Nullable [] bytes, DataOutputStream out) throws IOException {
    out.writeInt(bytes == null ? -1 : bytes.length);
    if (bytes != null) {
      out.write(bytes);
    }
  }

  private static byte @Nullable [] bytes(DataInputStream in, int most) throws IOException {
    var length = in.readInt();
    if (length == -1) {
      return null;
    }
    if (length < 0 || length > most) {
      throw new IOException("a text of " + length + " bytes");
    }
    var bytes = in.readNBytes(length);
    if (bytes.length < length) {
      throw new IOException("it ended in the middle");
    }
    return bytes;
  }
}
