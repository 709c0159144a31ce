package dev.platter.block.iscsi;

import static dev.platter.block.iscsi.Protocol.*;
import static java.nio.charset.StandardCharsets.UTF_8;

import com.code_intelligence.jazzer.junit.FuzzTest;
import dev.platter.block.MemoryDevice;
import dev.platter.block.scsi.Nexus;
import dev.platter.block.wire.BufferPool;
import dev.platter.block.wire.ScriptedPeer;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.Map;

/**
 * Arbitrary bytes as what an initiator sends: every PDU is answered or the connection ends, in
 * bounded memory and time. Fuzzes with {@code JAZZER_FUZZ=1}, else replays the corpus.
 */
class IscsiFuzzTest {
  private static final String NAME = "iqn.2024-01.dev.platter:fuzz";
  private static final int SIZE = 1 << 18;
  private static final int MOST_SENT = 256 << 20;
  private static final BufferPool POOL = new BufferPool();

  /** Logins as text, since lengths and flags would hardly ever be right otherwise. */
  @FuzzTest(maxDuration = "30s")
  void anyLoginEndsOrLeadsToASession(byte[] input) {
    var out = ByteBuffer.allocate(input.length + (HEADER + 4) * (input.length / 41 + 3));
    for (int at = 0; at < input.length; ) {
      int flags = input[at++];
      int length = Math.min(input.length - at, at == 1 ? 95 : 40);
      byte[] text = new byte[length];
      System.arraycopy(input, at, text, 0, length);
      out.put(RawInitiator.header(LOGIN | IMMEDIATE, flags, 1).putInt(4, length).array());
      out.put(text).position(out.position() + padded(length) - length);
      at += length;
    }
    converse(out, input.length % 2 == 0);
  }

  /** The input starts where commands do; each gets its number, else hardly any would be taken. */
  @FuzzTest(maxDuration = "30s")
  void anyCommandsAreAnsweredOrRefused(byte[] input) {
    String digests = input.length % 3 == 0 ? "HeaderDigest=None\0" : "InitialR2T=No\0";
    byte[] text = (RawInitiator.names(NAME) + digests).getBytes(UTF_8);
    var out = ByteBuffer.allocate(2 * HEADER + text.length + 8 + 2 * input.length);
    out.put(RawInitiator.header(LOGIN | IMMEDIATE, 0x87, 1).putInt(4, text.length).array());
    out.put(text).position(HEADER + padded(text.length));
    int number = 0;
    for (int at = 0; at < input.length; at += HEADER) {
      int length = Math.min(HEADER, input.length - at);
      int start = out.position();
      out.put(input, at, length);
      if (length == HEADER) {
        out.put(start + 4, (byte) 0).put(start + 5, (byte) 0).put(start + 6, (byte) 0);
        if ((input[at] & IMMEDIATE) == 0 && (input[at] & 0x3f) != DATA_OUT) {
          out.putInt(start + 24, number++);
        }
      }
    }
    converse(out, false);
  }

  private static void converse(ByteBuffer sent, boolean guarded) {
    var channel = new ScriptedPeer(sent.flip());
    try (var disk = new MemoryDevice(SIZE)) {
      IscsiTarget target = IscsiTarget.open(NAME, Map.of(0, disk, 3, disk));
      if (guarded) {
        target = target.withChap(new ChapCredentials("vm", new byte[] {1, 2, 3}));
      }
      Session session = new Login(channel, new OneTarget(target), POOL).run();
      if (session != null) {
        if (guarded && session.target() != null) {
          throw new AssertionError("logged in without the secret");
        }
        var discovery = new Discovery(session.target(), session.known(), List.of("1.2.3.4:3260"));
        new FullFeature(session, channel, Runnable::run, discovery).run();
      }
    } catch (IOException ended) {
      // The only other way for a conversation to end.
    }
    if (channel.received() > MOST_SENT) {
      throw new AssertionError(sent.limit() + " bytes made the server send " + channel.received());
    }
  }

  private record OneTarget(IscsiTarget target) implements Login.Targets {
    @Override
    public List<IscsiTarget> all() {
      return List.of(target);
    }

    @Override
    public boolean begin(Nexus nexus, IscsiTarget wanted) {
      wanted.device().join(nexus);
      return true;
    }

    @Override
    public int newSession() {
      return 1;
    }
  }
}
