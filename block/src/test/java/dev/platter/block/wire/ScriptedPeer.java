package dev.platter.block.wire;

import java.nio.ByteBuffer;
import java.nio.channels.ByteChannel;

/** Sends what it was given in pieces of changing size, then ends; counts what comes back. */
public final class ScriptedPeer implements ByteChannel {
  private static final int MOST_AT_ONCE = 97;

  private final ByteBuffer script;
  private long received;

  public ScriptedPeer(ByteBuffer script) {
    this.script = script;
  }

  /** How many bytes it was sent. */
  public long received() {
    return received;
  }

  @Override
  public int read(ByteBuffer into) {
    if (!script.hasRemaining()) {
      return -1;
    }
    int piece = 1 + script.position() % MOST_AT_ONCE;
    int n = Math.min(into.remaining(), Math.min(script.remaining(), piece));
    into.put(script.slice(script.position(), n));
    script.position(script.position() + n);
    return n;
  }

  @Override
  public int write(ByteBuffer from) {
    int n = from.remaining();
    received += n;
    from.position(from.limit());
    return n;
  }

  @Override
  public boolean isOpen() {
    return true;
  }

  @Override
  public void close() {}
}
