package dev.platter.node.image;

import dev.platter.block.nbd.NbdServer;
import dev.platter.model.PlatterException;
import dev.platter.model.PlatterException.Code;
import dev.platter.node.web.WebAccess;
import dev.platter.node.web.WebDisk;
import java.io.IOException;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The files on web servers that are exports, with their secrets. They are in memory only: a daemon
 * that was killed has none when it is back, and guests wait until somebody gives them again.
 */
final class ServedWeb implements AutoCloseable {
  /** A guest waits for its storage. */
  private static final Duration PATIENCE = Duration.ofDays(3650);

  private final NbdServer nbd;
  private final Map<String, WebDisk> disks = new HashMap<>();
  private boolean closed;

  ServedWeb(NbdServer nbd) {
    this.nbd = nbd;
  }

  /** Nobody waits for the server of another. */
  void serve(String export, WebAccess access) {
    try {
      var there = find(export);
      if (there == null) {
        add(export, WebDisk.open(access, PATIENCE));
      } else {
        there.use(access);
      }
    } catch (IOException e) {
      throw PlatterException.of(
          Code.UNAVAILABLE,
          String.valueOf(e.getMessage()),
          "Check that the server runs, that it has the file, and the CA and the headers.",
          e);
    }
  }

  private synchronized @Nullable WebDisk find(String export) {
    return disks.get(export);
  }

  private synchronized void add(String export, WebDisk disk) {
    if (closed || disks.putIfAbsent(export, disk) != null) {
      disk.close();
    } else {
      nbd.add(export, disk);
    }
  }

  /** Whoever still reads it gets an error. */
  synchronized void forget(String export) {
    var gone = disks.remove(export);
    if (gone != null) {
      gone.close();
      nbd.remove(export);
    }
  }

  synchronized boolean isEmpty() {
    return disks.isEmpty();
  }

  @Override
  public synchronized void close() {
    closed = true;
    disks.values().forEach(WebDisk::close);
  }
}
