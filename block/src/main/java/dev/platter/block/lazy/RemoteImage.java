package dev.platter.block.lazy;

import dev.platter.block.Extent;
import dev.platter.block.ReadOnlyDevice;
import dev.platter.block.nbd.NbdClient;
import java.io.IOException;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.function.Consumer;
import java.util.stream.Stream;

/**
 * The disk of an image that another process of this machine serves. That may be gone for a while,
 * or not have the image open yet: whoever reads waits for it, however long that takes, as a guest
 * does for a base. Only {@link #close} ends that.
 */
public final class RemoteImage implements ReadOnlyDevice {
  private static final Duration TO_CONNECT = Duration.ofSeconds(10);

  /** A registry may be away for longer; then it is asked anew. */
  private static final Duration PATIENCE = Duration.ofMinutes(5);

  private static final String OVER = "nobody reads the image any more";
  private static final int MOST_IDLE = 2;
  private static final Duration BETWEEN_WORDS = Duration.ofMinutes(1);

  private final Path socket;
  private final String export;
  private final long size;
  private final Duration pause;
  private final Consumer<String> log;
  private final Deque<NbdClient> idle = new ArrayDeque<>();
  private final Set<NbdClient> busy = new HashSet<>();
  private long said = System.nanoTime();
  private boolean closed;

  /**
   * @param size that it must have
   * @param pause between two tries
   * @param log is told once a minute why somebody waits
   */
  public RemoteImage(Path socket, String export, long size, Duration pause, Consumer<String> log) {
    this.socket = socket;
    this.export = export;
    this.size = size;
    this.pause = pause;
    this.log = log;
  }

  @Override
  public long size() {
    return size;
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
          drop(client);
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
        throw new IOException(OVER);
      }
      if (!idle.isEmpty()) {
        var client = idle.pop();
        busy.add(client);
        return client;
      }
    }
    var client =
        NbdClient.connect(UnixDomainSocketAddress.of(socket), export, TO_CONNECT, PATIENCE);
    if (client.size() != size) {
      client.close();
      throw new IOException(
          "the image " + export + " has " + client.size() + " bytes and not " + size);
    }
    synchronized (this) {
      if (!closed) {
        busy.add(client);
        return client;
      }
    }
    client.close();
    throw new IOException(OVER);
  }

  private void drop(NbdClient client) throws IOException {
    synchronized (this) {
      busy.remove(client);
    }
    client.close();
  }

  private void give(NbdClient client) throws IOException {
    synchronized (this) {
      busy.remove(client);
      if (!closed && idle.size() < MOST_IDLE) {
        idle.push(client);
        return;
      }
    }
    client.close();
  }

  private void await(IOException why) throws IOException {
    var tell = false;
    synchronized (this) {
      if (closed) {
        throw why;
      }
      if (System.nanoTime() - said > BETWEEN_WORDS.toNanos()) {
        said = System.nanoTime();
        tell = true;
      }
    }
    if (tell) {
      log.accept("the image " + export + " is still waited for: " + why.getMessage());
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

  /** Who waits for it gets an error. */
  @Override
  public void close() throws IOException {
    List<NbdClient> left;
    synchronized (this) {
      closed = true;
      left = Stream.concat(idle.stream(), busy.stream()).toList();
      idle.clear();
    }
    for (var client : left) {
      client.close();
    }
  }
}
