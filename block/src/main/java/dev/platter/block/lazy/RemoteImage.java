package dev.platter.block.lazy;

import dev.platter.block.BlockDevice;
import dev.platter.block.Extent;
import dev.platter.block.nbd.NbdClient;
import java.io.IOException;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;

/**
 * The disk of an image that another process of this machine serves. That may be gone for a while,
 * or not have the image open yet: whoever reads waits for it, however long that takes, as a guest
 * does for a base. Only {@link #close} ends that.
 */
public final class RemoteImage implements BlockDevice {
  private static final Duration TO_CONNECT = Duration.ofSeconds(10);

  /** A registry may be away for longer; then it is asked anew. */
  private static final Duration PATIENCE = Duration.ofMinutes(5);

  private static final int MOST_IDLE = 8;

  private final Path socket;
  private final String export;
  private final long size;
  private final Duration pause;
  private final Deque<NbdClient> idle = new ArrayDeque<>();
  private boolean closed;

  /**
   * @param size that it must have
   * @param pause between two tries
   */
  public RemoteImage(Path socket, String export, long size, Duration pause) {
    this.socket = socket;
    this.export = export;
    this.size = size;
    this.pause = pause;
  }

  @Override
  public long size() {
    return size;
  }

  @Override
  public boolean readOnly() {
    return true;
  }

  private interface Use<T> {
    T with(NbdClient client) throws IOException;
  }

  private <T> T ask(Use<T> use) throws IOException {
    while (true) {
      try {
        var client = take();
        T out;
        try {
          out = use.with(client);
        } catch (IOException | RuntimeException e) {
          client.close();
          throw e;
        }
        give(client);
        return out;
      } catch (IOException e) {
        await(e);
      }
    }
  }

  private NbdClient take() throws IOException {
    synchronized (this) {
      if (closed) {
        throw new IOException("nobody reads the image any more");
      }
      if (!idle.isEmpty()) {
        return idle.pop();
      }
    }
    var client =
        NbdClient.connect(UnixDomainSocketAddress.of(socket), export, TO_CONNECT, PATIENCE);
    if (client.size() != size) {
      client.close();
      throw new IOException(
          "the image " + export + " has " + client.size() + " bytes and not " + size);
    }
    return client;
  }

  private void give(NbdClient client) throws IOException {
    synchronized (this) {
      if (!closed && idle.size() < MOST_IDLE) {
        idle.push(client);
        return;
      }
    }
    client.close();
  }

  private void await(IOException why) throws IOException {
    synchronized (this) {
      if (closed) {
        throw why;
      }
    }
    try {
      Thread.sleep(pause);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw why;
    }
  }

  @Override
  public void read(long offset, ByteBuffer into) throws IOException {
    ask(
        client -> {
          client.read(offset, into.duplicate());
          return true;
        });
    into.position(into.limit());
  }

  @Override
  public List<Extent> extents(long offset, long length) throws IOException {
    return ask(client -> client.extents(offset, length));
  }

  @Override
  public void write(long offset, ByteBuffer from) {
    throw new UnsupportedOperationException("an image is read only");
  }

  @Override
  public void zero(long offset, long length, boolean mayTrim) {
    throw new UnsupportedOperationException("an image is read only");
  }

  @Override
  public void trim(long offset, long length) {
    throw new UnsupportedOperationException("an image is read only");
  }

  @Override
  public void flush() {}

  /** Who waits for it gets an error. */
  @Override
  public void close() throws IOException {
    List<NbdClient> left;
    synchronized (this) {
      closed = true;
      left = List.copyOf(idle);
      idle.clear();
    }
    for (var client : left) {
      client.close();
    }
  }
}
