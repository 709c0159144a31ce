package dev.platter.node.volumes;

import dev.platter.block.lazy.LazyVolume;
import dev.platter.block.lazy.RemoteImage;
import dev.platter.block.nbd.NbdServer;
import java.io.IOException;
import java.io.InterruptedIOException;
import java.net.UnixDomainSocketAddress;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * The lazy volumes that are open and offered by NBD. A volume is open once at a time, and closing
 * one lasts, since its filler has to end: whoever wants it meanwhile waits. A filler may itself end
 * its volume; it must not wait for one that somebody else ends, who waits for it.
 */
final class ServedVolumes {
  private final Object monitor;
  private final NbdServer nbd = new NbdServer();
  private final Map<String, Served> all = new HashMap<>();

  /** Served no more, and not closed yet. */
  private final Set<String> ending = new HashSet<>();

  /**
   * @param filler takes from the image what nobody has asked for
   */
  record Served(LazyVolume volume, RemoteImage image, Thread filler) {}

  /**
   * @param monitor which whoever decides what is served has meanwhile
   */
  ServedVolumes(Object monitor) {
    this.monitor = monitor;
  }

  void listen(UnixDomainSocketAddress address) throws IOException {
    nbd.listen(address);
  }

  @Nullable Served find(String id) {
    synchronized (monitor) {
      return all.get(id);
    }
  }

  /** From now on; there may be none of this name. */
  void add(String id, Served one) {
    synchronized (monitor) {
      nbd.add(id, one.volume);
      all.put(id, one);
      one.filler.start();
    }
  }

  /**
   * Nobody finds it any more.
   *
   * @return what is to be ended by {@link #end}
   */
  @Nullable Served stop(String id) {
    synchronized (monitor) {
      var gone = all.remove(id);
      if (gone != null) {
        ending.add(id);
        nbd.remove(id);
      }
      return gone;
    }
  }

  /** Whoever calls does not have the monitor, which the filler may need. */
  void end(String id, @Nullable Served gone) throws IOException {
    if (gone == null) {
      return;
    }
    try {
      gone.image.close();
      join(gone.filler);
      gone.volume.close();
    } finally {
      synchronized (monitor) {
        ending.remove(id);
        monitor.notifyAll();
      }
    }
  }

  void awaitEnd(String id) throws IOException {
    synchronized (monitor) {
      try {
        while (ending.contains(id)) {
          monitor.wait();
        }
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
        throw new InterruptedIOException("interrupted while the volume " + id + " was closed");
      }
    }
  }

  private static void join(Thread filler) {
    if (!filler.equals(Thread.currentThread())) {
      try {
        filler.join();
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
      }
    }
  }

  /** Guests wait for who comes next. */
  void close() throws IOException {
    List<Served> left;
    List<String> leaving;
    synchronized (monitor) {
      left = List.copyOf(all.values());
      leaving = List.copyOf(ending);
      all.clear();
    }
    nbd.close(); // First: who waits for an image is to be cut off, and not to be told of an error.
    for (var one : left) {
      one.image.close();
      join(one.filler);
      try (var volume = one.volume) {
        volume.flush();
      } catch (IOException e) { // Its users are told by whoever comes next.
        System.err.println("a volume is left as it is: " + e);
      }
    }
    for (var id : leaving) {
      awaitEnd(id);
    }
  }
}
