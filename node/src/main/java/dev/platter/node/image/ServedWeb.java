package dev.platter.node.image;

import dev.platter.block.nbd.NbdServer;
import dev.platter.model.PlatterException;
import dev.platter.model.PlatterException.Code;
import dev.platter.node.web.WebAccess;
import dev.platter.node.web.WebDisk;
import dev.platter.node.web.WebRefusal;
import dev.platter.node.web.WebVersion;
import java.io.IOException;
import java.net.URI;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The files on web servers that are exports, with their secrets. They are in memory only: a daemon
 * that was killed has none when it is back, and guests wait until somebody gives them again.
 *
 * <p>Opening one may take as long as its server likes, and whoever asked may be gone by then. So a
 * request counts only while it is the last one for its export, and until that is forgotten.
 */
final class ServedWeb implements AutoCloseable {
  /** A guest waits for its storage. */
  private static final Duration PATIENCE = Duration.ofDays(3650);

  private final NbdServer nbd;
  private final Map<String, Served> disks = new HashMap<>();
  private final Map<String, Long> opening = new HashMap<>();
  private long requests;
  private boolean closed;

  private record Served(URI url, WebDisk disk) {}

  ServedWeb(NbdServer nbd) {
    this.nbd = nbd;
  }

  /**
   * Nobody waits for the server of another.
   *
   * @param expected the only version to serve; null for whatever there is
   * @return the version that is served
   */
  WebVersion serve(String export, WebAccess access, @Nullable WebVersion expected) {
    var request = begin(export);
    try {
      var there = find(export);
      if (there != null && isMeant(there, access, expected)) {
        there.disk.use(access);
        return there.disk.version();
      }
      var disk = WebDisk.open(access, expected, PATIENCE);
      if (!add(export, request, new Served(access.url(), disk))) {
        disk.close();
        throw PlatterException.of(
            Code.CONFLICT, access + " is not wanted any more, or was asked for again", "");
      }
      return disk.version();
    } catch (WebRefusal e) {
      throw e.told();
    } catch (IOException e) {
      throw PlatterException.of(
          Code.UNAVAILABLE,
          String.valueOf(e.getMessage()),
          "Check that the server runs and can be reached.",
          e);
    } finally {
      end(export, request);
    }
  }

  private synchronized long begin(String export) {
    opening.put(export, ++requests);
    return requests;
  }

  private synchronized @Nullable Served find(String export) {
    return disks.get(export);
  }

  private synchronized void end(String export, long request) {
    opening.remove(export, request);
  }

  private static boolean isMeant(Served there, WebAccess access, @Nullable WebVersion expected) {
    return there.url.equals(access.url())
        && (expected == null || expected.equals(there.disk.version()));
  }

  private synchronized boolean add(String export, long request, Served served) {
    if (closed || opening.getOrDefault(export, 0L) != request) {
      return false;
    }
    remove(export);
    disks.put(export, served);
    nbd.add(export, served.disk);
    return true;
  }

  /** Whoever still reads it gets an error. */
  synchronized void forget(String export) {
    opening.remove(export);
    remove(export);
  }

  private void remove(String export) {
    var gone = disks.remove(export);
    if (gone != null) {
      gone.disk.close();
      nbd.remove(export);
    }
  }

  synchronized boolean isEmpty() {
    return disks.isEmpty();
  }

  @Override
  public synchronized void close() {
    closed = true;
    disks.values().forEach(served -> served.disk.close());
  }
}
