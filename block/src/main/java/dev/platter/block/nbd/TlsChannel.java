package dev.platter.block.nbd;

import dev.platter.block.wire.PeerException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.ByteChannel;
import javax.net.ssl.SSLEngine;
import javax.net.ssl.SSLEngineResult;
import javax.net.ssl.SSLEngineResult.HandshakeStatus;

/**
 * TLS over a blocking channel. One thread reads; writers take turns. A reader that has to say
 * something of its own (a key update) writes as the others do.
 *
 * <p>An end without TLS's own goodbye counts as an end: every message of NBD says how long it is.
 */
final class TlsChannel implements ByteChannel {
  private final ByteChannel plain;
  private final SSLEngine engine;
  private final Object writing = new Object();
  private final ByteBuffer received;
  private final ByteBuffer opened;
  private final ByteBuffer sealed;

  TlsChannel(ByteChannel plain, SSLEngine engine) {
    this.plain = plain;
    this.engine = engine;
    int packet = engine.getSession().getPacketBufferSize();
    this.received = ByteBuffer.allocateDirect(packet).limit(0);
    this.sealed = ByteBuffer.allocateDirect(packet);
    this.opened =
        ByteBuffer.allocateDirect(engine.getSession().getApplicationBufferSize()).limit(0);
  }

  void handshake() throws IOException {
    engine.beginHandshake();
    for (HandshakeStatus next = engine.getHandshakeStatus();
        next != HandshakeStatus.NOT_HANDSHAKING && next != HandshakeStatus.FINISHED;
        next = engine.getHandshakeStatus()) {
      if (!step(next)) {
        throw new PeerException("the connection ended within the TLS handshake");
      }
    }
  }

  /** Does what the engine needs; false at the end of the stream. */
  private boolean step(HandshakeStatus next) throws IOException {
    switch (next) {
      case NEED_TASK -> {
        for (Runnable task = engine.getDelegatedTask();
            task != null;
            task = engine.getDelegatedTask()) {
          task.run();
        }
      }
      case NEED_WRAP -> seal(ByteBuffer.allocate(0));
      case NEED_UNWRAP, NEED_UNWRAP_AGAIN, NOT_HANDSHAKING, FINISHED -> {
        return open();
      }
    }
    return true;
  }

  @Override
  public int read(ByteBuffer into) throws IOException {
    while (!opened.hasRemaining()) {
      HandshakeStatus status = engine.getHandshakeStatus();
      if (!step(status)) {
        return -1;
      }
    }
    int n = Math.min(into.remaining(), opened.remaining());
    into.put(opened.slice(opened.position(), n));
    opened.position(opened.position() + n);
    return n;
  }

  /** Takes one record; false at the end of the stream. */
  private boolean open() throws IOException {
    while (true) {
      opened.clear();
      SSLEngineResult result = engine.unwrap(received, opened);
      opened.flip();
      switch (result.getStatus()) {
        case OK -> {
          return true;
        }
        case CLOSED -> {
          return false;
        }
        case BUFFER_UNDERFLOW -> {
          received.compact();
          int n = plain.read(received);
          received.flip();
          if (n < 0) {
            return false;
          }
        }
        case BUFFER_OVERFLOW -> throw new IOException("a TLS record larger than the engine said");
      }
    }
  }

  @Override
  public int write(ByteBuffer from) throws IOException {
    int before = from.remaining();
    while (from.hasRemaining()) {
      seal(from);
    }
    return before;
  }

  private void seal(ByteBuffer from) throws IOException {
    synchronized (writing) {
      sealed.clear();
      SSLEngineResult result = engine.wrap(from, sealed);
      if (result.getStatus() == SSLEngineResult.Status.CLOSED && from.hasRemaining()) {
        throw new PeerException("the client has closed TLS");
      }
      sealed.flip();
      while (sealed.hasRemaining()) {
        plain.write(sealed);
      }
    }
  }

  @Override
  public boolean isOpen() {
    return plain.isOpen();
  }

  /** Without TLS's goodbye: somebody may be in the middle of a write that does not end. */
  @Override
  public void close() throws IOException {
    plain.close();
  }
}
