package dev.platter.block.nbd;

import static dev.platter.block.nbd.Protocol.*;

import com.code_intelligence.jazzer.junit.FuzzTest;
import dev.platter.block.BlockDevice;
import dev.platter.block.MemoryDevice;
import dev.platter.block.wire.BufferPool;
import dev.platter.block.wire.ScriptedPeer;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Arbitrary bytes as what a client sends: every request is answered or the connection ends, in
 * bounded memory and time. Fuzzes with {@code JAZZER_FUZZ=1}, else replays the corpus.
 */
class NbdFuzzTest {
  private static final int SIZE = (1 << 17) + 3;
  private static final int MOST_SENT = 256 << 20;
  private static final BufferPool POOL = new BufferPool();

  @FuzzTest(maxDuration = "30s")
  void anyNegotiationEndsOrLeadsToTransmission(byte[] input) {
    converse(input);
  }

  /** The input starts where requests do, so that the fuzzer need not find the way there. */
  @FuzzTest(maxDuration = "30s")
  void anyRequestsAreAnsweredOrRefused(byte[] input) {
    boolean structured = input.length % 2 == 0;
    byte[] opening = opening(structured);
    ByteBuffer all = ByteBuffer.allocate(opening.length + input.length + input.length / 24 * 4);
    all.put(opening);
    // Each request gets its magic, else hardly any would be one.
    for (int at = 0; at < input.length; at += 24) {
      if (input.length - at >= 24) {
        all.putInt(REQUEST_MAGIC);
      }
      all.put(input, at, Math.min(24, input.length - at));
    }
    converse(all.array());
  }

  private static byte[] opening(boolean structured) {
    ByteBuffer out = ByteBuffer.allocate(200);
    out.putInt(FIXED_NEWSTYLE | NO_ZEROES);
    if (structured) {
      out.putLong(OPTION_MAGIC).putInt(OPT_STRUCTURED_REPLY).putInt(0);
      byte[] query = ALLOCATION.getBytes();
      out.putLong(OPTION_MAGIC).putInt(OPT_SET_META_CONTEXT).putInt(13 + query.length);
      out.putInt(1).put((byte) 'd').putInt(1).putInt(query.length).put(query);
    }
    byte[] go = RawClient.go("d");
    out.putLong(OPTION_MAGIC).putInt(OPT_GO).putInt(go.length).put(go);
    byte[] bytes = new byte[out.flip().remaining()];
    out.get(bytes);
    return bytes;
  }

  private static void converse(byte[] input) {
    var client = new ScriptedPeer(ByteBuffer.wrap(input));
    try (var device = new MemoryDevice(SIZE)) {
      Session session = new Negotiation(client, new OneExport(device), Negotiation.Tls.NONE).run();
      if (session != null) {
        new Transmission(session, POOL, Runnable::run).run();
      }
    } catch (IOException ended) {
      // The only other way for a conversation to end.
    }
    if (client.received() > MOST_SENT) {
      throw new AssertionError(input.length + " bytes made the server send " + client.received());
    }
  }

  private record OneExport(BlockDevice device) implements Negotiation.Exchange {
    @Override
    public Iterable<String> names() {
      return List.of("d");
    }

    @Override
    public @Nullable BlockDevice find(String name) {
      return name.equals("d") ? device : null;
    }

    @Override
    public @Nullable BlockDevice use(String name) {
      return find(name);
    }
  }
}
