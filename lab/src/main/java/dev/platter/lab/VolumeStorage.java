package dev.platter.lab;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;

/** The storage that the container is a front of: it outlives containers and counts what is done. */
public final class VolumeStorage implements AutoCloseable {
  private final ServerSocket server;
  private final Thread thread;
  private final Set<String> volumes = ConcurrentHashMap.newKeySet();
  public final List<String> made = new CopyOnWriteArrayList<>();
  public final List<String> deleted = new CopyOnWriteArrayList<>();
  public final AtomicInteger deletions = new AtomicInteger();
  public volatile boolean broken;

  /** For containers that have this machine's network. */
  public VolumeStorage() throws IOException {
    this(InetAddress.getLoopbackAddress());
  }

  public VolumeStorage(InetAddress address) throws IOException {
    server = new ServerSocket(0, 10, address);
    thread = Thread.ofVirtual().start(this::serve);
  }

  public int port() {
    return server.getLocalPort();
  }

  public void forget() {
    volumes.clear();
    made.clear();
    deleted.clear();
    deletions.set(0);
    broken = false;
  }

  public Set<String> volumes() {
    return Set.copyOf(volumes);
  }

  private void serve() {
    while (!server.isClosed()) {
      try (var connection = server.accept()) {
        var in = new InputStreamReader(connection.getInputStream(), StandardCharsets.UTF_8);
        var line = String.valueOf(new BufferedReader(in).readLine());
        connection.getOutputStream().write((answer(line) + "\n").getBytes(StandardCharsets.UTF_8));
      } catch (IOException e) {
        if (!server.isClosed()) {
          throw new UncheckedIOException(e);
        }
      }
    }
  }

  private String answer(String line) {
    var words = line.split(" ", -1);
    return switch (words[0]) {
      case "make" -> {
        if (volumes.add(words[1])) {
          made.add(words[1]);
        }
        yield "made";
      }
      case "delete" -> {
        deletions.incrementAndGet();
        if (volumes.remove(words[1])) {
          deleted.add(words[1]);
          yield "gone";
        }
        yield "none";
      }
      default -> broken ? "yes" : "no";
    };
  }

  @Override
  public void close() {
    try {
      server.close();
      thread.join();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}
