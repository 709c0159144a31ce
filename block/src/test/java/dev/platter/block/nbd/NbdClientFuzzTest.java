package dev.platter.block.nbd;

import static dev.platter.block.nbd.Protocol.*;

import com.code_intelligence.jazzer.junit.FuzzTest;
import dev.platter.block.Extent;
import dev.platter.block.wire.Input;
import dev.platter.block.wire.PeerException;
import dev.platter.block.wire.ScriptedPeer;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.List;

/**
 * Arbitrary bytes as what a server sends: the client gets exactly what it asked for or an {@code
 * IOException}, in bounded memory and time. Fuzzes with {@code JAZZER_FUZZ=1}, else replays the
 * corpus.
 */
class NbdClientFuzzTest {
  private static final int SIZE = 1 << 20;

  @FuzzTest(maxDuration = "30s")
  void anyServerIsAgreedWithOrRefused(byte[] input) throws IOException {
    try {
      var server = new ScriptedPeer(ByteBuffer.wrap(input));
      ServedExport export = new Introduction(server, new Input(server), "d").run();
      if (export.size() < 0 || export.mostBytes() < 1 || export.mostBytes() > MOST_PAYLOAD) {
        throw new AssertionError(export.toString());
      }
    } catch (PeerException refused) {
      // The only other way for an introduction to end.
    }
  }

  /**
   * Each message gets a magic number, and mostly a cookie that is known, else none would be one.
   */
  @FuzzTest(maxDuration = "30s")
  void anyRepliesAreTakenOrRefused(byte[] input) throws IOException {
    boolean structured = input.length % 2 == 0;
    ByteBuffer in = ByteBuffer.wrap(input);
    ByteBuffer out = ByteBuffer.allocate(input.length * 20 + 20);
    while (in.remaining() >= 6) {
      int body = Math.min(in.get() & 0x7f, in.remaining() - 5);
      if (structured) {
        out.putInt(CHUNK_MAGIC).putShort(in.get()).putShort((short) (in.get() % 7 & 0x8007));
        out.putLong(in.get() & 3).putInt(body + (in.get() == 77 ? 1 << 31 : 0) + in.get() % 2);
      } else {
        out.putInt(SIMPLE_MAGIC).putInt(in.getInt() % 3).putLong(in.get() & 3);
      }
      out.put(in.slice(in.position(), body));
      in.position(in.position() + body);
    }
    byte[] bytes = new byte[out.flip().remaining()];
    out.get(bytes);
    converse(
        new ScriptedPeer(ByteBuffer.wrap(bytes)),
        new ServedExport(SIZE, HAS_FLAGS, structured, 0, MOST_PAYLOAD));
  }

  private static void converse(ScriptedPeer server, ServedExport export) throws IOException {
    var answers = new Answers(new Input(server), export);
    var small = new NbdClient.Read(0, ByteBuffer.allocate(40));
    var large = new NbdClient.Read(4096, ByteBuffer.allocate(60_000));
    answers.expect(1, Answers.Pending.read(small, false));
    answers.expect(2, Answers.Pending.read(large, true));
    answers.expect(3, Answers.Pending.map(0, SIZE));
    try {
      while (answers.outstanding() > 0) {
        check(answers.next());
      }
    } catch (PeerException refused) {
      // The only other way for a conversation to end.
    }
  }

  private static void check(Answers.Pending finished) {
    if (finished.error != null) {
      return;
    }
    List<Extent> extents = finished.extents;
    boolean right =
        finished.read != null
            ? !finished.read.bytes().hasRemaining() && extents == null
            : extents != null && extents.stream().mapToLong(Extent::length).sum() <= SIZE;
    if (!right) {
      throw new AssertionError(finished + " is not what was asked for");
    }
  }
}
