package dev.platter.image.lazy;

import java.io.IOException;
import java.io.InputStream;
import java.io.InterruptedIOException;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import org.jspecify.annotations.Nullable;

/**
 * Reads a stream in a thread of its own, some buffers ahead of who reads this, so that the network
 * and the digest of the blob do not wait for the unpacking, nor that for them. An error comes out
 * behind the bytes before it.
 */
final class ReadAhead extends InputStream {
  private static final int BUFFER = 256 << 10;
  private static final int BUFFERS = 8;

  private static final class Buffer {
    final byte[] bytes;
    int length;
    int position;

    Buffer(int capacity) {
      bytes = new byte[capacity];
    }
  }

  /** Some bytes, or, with none, how it ended. */
  private record Piece(Buffer buffer, @Nullable Throwable failure) {}

  private final InputStream in;
  private final BlockingQueue<Piece> queue = new ArrayBlockingQueue<>(BUFFERS);
  private final BlockingQueue<Buffer> free = new ArrayBlockingQueue<>(BUFFERS + 2);
  private final Thread reader;
  private Piece piece = new Piece(new Buffer(0), null);
  private boolean ended;
  private volatile boolean closed;

  ReadAhead(InputStream in) {
    this.in = in;
    this.reader = Thread.ofVirtual().name("layer").start(this::run);
  }

  private void run() {
    try {
      @Nullable Throwable failure = null;
      try {
        while (!closed) {
          Buffer buffer = free.poll();
          buffer = buffer == null ? new Buffer(BUFFER) : buffer;
          buffer.position = 0;
          buffer.length = in.readNBytes(buffer.bytes, 0, BUFFER);
          if (buffer.length == 0) {
            break;
          }
          queue.put(new Piece(buffer, null));
        }
      } catch (IOException | RuntimeException e) {
        failure = e;
      }
      queue.put(new Piece(new Buffer(0), failure));
    } catch (InterruptedException e) {
      // Closed: nobody reads any more.
    }
  }

  @Override
  public int read() throws IOException {
    byte[] one = new byte[1];
    return read(one, 0, 1) < 0 ? -1 : one[0] & 0xff;
  }

  @Override
  public int read(byte[] into, int from, int length) throws IOException {
    if (length == 0) {
      return 0;
    }
    while (piece.buffer.position == piece.buffer.length) {
      if (ended) {
        return -1;
      }
      next();
    }
    Buffer buffer = piece.buffer;
    int n = Math.min(length, buffer.length - buffer.position);
    System.arraycopy(buffer.bytes, buffer.position, into, from, n);
    buffer.position += n;
    return n;
  }

  private void next() throws IOException {
    if (piece.buffer.length > 0) {
      free.offer(piece.buffer);
    }
    try {
      piece = queue.take();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new InterruptedIOException("interrupted while a layer was read");
    }
    if (piece.buffer.length == 0) {
      ended = true;
      switch (piece.failure) {
        case null -> {}
        case IOException e -> throw e;
        case Throwable e -> throw new IOException("reading a layer failed", e);
      }
    }
  }

  @Override
  public void close() throws IOException {
    closed = true;
    reader.interrupt();
    in.close();
    queue.clear(); // it may wait for room
  }
}
