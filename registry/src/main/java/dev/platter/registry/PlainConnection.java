package dev.platter.registry;

import static java.nio.charset.StandardCharsets.ISO_8859_1;

import java.io.EOFException;
import java.io.IOException;
import java.net.ProtocolException;
import java.net.http.HttpTimeoutException;
import java.nio.ByteBuffer;
import java.nio.channels.AsynchronousCloseException;
import java.nio.channels.CancelledKeyException;
import java.nio.channels.ClosedByInterruptException;
import java.nio.channels.ClosedSelectorException;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.SocketChannel;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * A connection on which nobody waits for ever. What is read as lines goes through a small buffer;
 * bytes beyond that go straight to where they are wanted. Belongs to one thread at a time, but for
 * its end: who closes it ends the wait of whoever reads.
 */
final class PlainConnection implements AutoCloseable {
  private static final int BUFFER = 16 << 10;

  private final SocketChannel channel;
  private final Duration patience;
  private final Selector selector;
  private final SelectionKey key;
  private long begun;
  private boolean inHead;
  private boolean answered;
  private final ByteBuffer buffer = ByteBuffer.allocateDirect(BUFFER).limit(0);

  /**
   * @param channel is closed with this one
   */
  PlainConnection(SocketChannel channel, Duration patience) throws IOException {
    this.channel = channel;
    this.patience = patience;
    try {
      this.selector = Selector.open();
    } catch (IOException e) {
      channel.close();
      throw e;
    }
    try {
      channel.configureBlocking(false);
      this.key = channel.register(selector, SelectionKey.OP_READ);
    } catch (IOException | RuntimeException e) {
      close();
      throw e;
    }
  }

  /** Sends a request, whose answer comes from now on. */
  void ask(String head) throws IOException {
    begun = System.nanoTime();
    inHead = true;
    answered = false;
    write(head);
  }

  /** Whether anything has come since the last request. */
  boolean isAnswered() {
    return answered;
  }

  /** Whether it is open and nothing is there to be read. */
  boolean isQuiet() {
    try {
      return !buffer.hasRemaining() && channel.read(buffer.clear().limit(1)) == 0;
    } catch (IOException e) {
      return false;
    } finally {
      buffer.limit(buffer.position());
    }
  }

  /** So many bytes if all of them are here already, else null. */
  byte @Nullable [] take(long bytes) {
    if (bytes > buffer.remaining()) {
      return null;
    }
    byte[] taken = new byte[(int) bytes];
    buffer.get(taken);
    return taken;
  }

  /** Some bytes; -1 where the server has closed the connection. */
  int read(ByteBuffer into) throws IOException {
    if (buffer.hasRemaining()) {
      int n = Math.min(buffer.remaining(), into.remaining());
      into.put(buffer.slice(buffer.position(), n));
      buffer.position(buffer.position() + n);
      return n;
    }
    return receive(into);
  }

  private int receive(ByteBuffer into) throws IOException {
    endIfInterrupted();
    if (inHead && System.nanoTime() - begun > patience.toNanos()) {
      throw new HttpTimeoutException("no answer for " + patience.toSeconds() + " s");
    }
    int n = channel.read(into);
    while (n == 0 && into.hasRemaining()) {
      await(SelectionKey.OP_READ);
      n = channel.read(into);
    }
    answered |= n > 0;
    return n;
  }

  /** An interrupt ends the wait, and the connection. */
  private void await(int operation) throws IOException {
    long now = System.nanoTime();
    long end = inHead ? begun + patience.toNanos() : now + patience.toNanos();
    int ready = end <= now ? 0 : select(operation, Math.max(1, (end - now) / 1_000_000));
    endIfInterrupted();
    if (ready == 0) {
      throw new HttpTimeoutException("nothing came for " + patience.toSeconds() + " s");
    }
  }

  /** Another thread may close the connection meanwhile. */
  private int select(int operation, long millis) throws IOException {
    int ready = 0;
    try {
      key.interestOps(operation);
      selector.selectedKeys().clear();
      ready = selector.select(millis);
    } catch (ClosedSelectorException | CancelledKeyException e) {
      // Said below.
    }
    if (!channel.isOpen()) {
      throw new AsynchronousCloseException();
    }
    return ready;
  }

  private void endIfInterrupted() throws IOException {
    if (Thread.currentThread().isInterrupted()) {
      close();
      throw new ClosedByInterruptException();
    }
  }

  /** From now on each byte that comes gives the server time for the next. */
  void headIsRead() {
    inHead = false;
  }

  /** A line without its end, and with all else. */
  String line(int most) throws IOException {
    var text = new StringBuilder();
    while (true) {
      if (!buffer.hasRemaining()) {
        int n = receive(buffer.clear());
        buffer.flip();
        if (n < 0) {
          throw new EOFException("the connection ended in the middle of the answer");
        }
      }
      for (; buffer.hasRemaining(); ) {
        char c = (char) (buffer.get() & 0xff);
        if (c == '\n') {
          int last = text.length() - 1;
          return last >= 0 && text.charAt(last) == '\r' ? text.substring(0, last) : text.toString();
        }
        if (text.length() >= most) {
          throw new ProtocolException("the head of the answer is too long");
        }
        text.append(c);
      }
    }
  }

  /** Some hundred bytes, for which a new connection has room at once, unless addresses are long. */
  private void write(String text) throws IOException {
    ByteBuffer bytes = ByteBuffer.wrap(text.getBytes(ISO_8859_1));
    while (bytes.hasRemaining()) {
      if (channel.write(bytes) == 0) {
        await(SelectionKey.OP_WRITE);
      }
    }
  }

  @Override
  public void close() throws IOException {
    try (selector) {
      channel.close();
    }
  }
}
