package dev.platter.node.volumes;

import dev.platter.block.lazy.LazyVolume;
import dev.platter.block.lazy.RemoteImage;
import dev.platter.model.PlatterException;
import dev.platter.model.PlatterException.Code;
import dev.platter.node.durable.Durable;
import dev.platter.node.volumes.ServedVolumes.Served;
import dev.platter.node.volumes.Volume.Drawn;
import java.io.IOException;
import java.net.UnixDomainSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;

/**
 * Volumes that begin as the disk of an image and are used while its bytes come ({@link
 * LazyVolume}). The image is the one that the daemon of this node has, or is fetching; a VM uses
 * such a volume by NBD, from here. Others wait until all of it is there.
 *
 * <p>What counts is the record of the volume and its map. A volume is served as long as somebody
 * may have it by NBD: from when its record says so until it is complete and no device of it is left
 * (when it is unstaged). So a driver that comes after one that was killed serves the same, and QEMU
 * connects to it again.
 *
 * <p>The rest of a volume is fetched when nobody has waited for its image for a moment: what a
 * guest reads when it boots comes first.
 *
 * <p>One that is broken is opened anew when no device of it is left, by whoever notices first: who
 * fetches the rest, who gives it back, or who wants it next. What cannot be opened, for want of
 * room perhaps, is tried again until it can: there need be nobody who asks for it.
 */
public final class DrawnVolumes implements AutoCloseable {
  /** Longer than the daemon waits for more of what it records as a boot: this is no part of it. */
  private static final Duration QUIET = Duration.ofSeconds(20);

  /** After so many times as long the rest is fetched whatever the guest does. */
  private static final int PATIENCE = 15;

  private static final Duration BETWEEN_TRIES = Duration.ofSeconds(5);
  private static final Duration PAUSE = Duration.ofMillis(200);

  /** After how many stretches of 1 MiB what has come is made to last. */
  private static final int BETWEEN_SYNCS = 64;

  private final VolumeStore store;
  private final DrawnFiles files;
  private final Path images;
  private final Duration quiet;
  private final ServedVolumes served = new ServedVolumes(this);
  private boolean closed;

  private DrawnVolumes(VolumeStore store, DrawnFiles files, Path images, Duration quiet) {
    this.store = store;
    this.files = files;
    this.images = images;
    this.quiet = quiet;
  }

  /**
   * @param images the socket of the daemon's NBD server, whose exports are digests; there may be
   *     nobody yet
   */
  public static DrawnVolumes start(VolumeStore store, DrawnFiles files, Path images)
      throws IOException {
    return start(store, files, images, QUIET);
  }

  /**
   * @param quiet for how long nobody must have waited for an image before the rest is fetched
   */
  static DrawnVolumes start(VolumeStore store, DrawnFiles files, Path images, Duration quiet)
      throws IOException {
    var out = new DrawnVolumes(store, files, images, quiet);
    try {
      out.begin();
      return out;
    } catch (IOException | RuntimeException e) {
      out.close();
      throw e;
    }
  }

  private synchronized void begin() throws IOException {
    Durable.makeDirectories(files.notes());
    try (var notes = Files.list(files.notes())) {
      for (var note : notes.toList()) {
        if (store.volume(String.valueOf(note.getFileName())).map(Volume::drawn).isEmpty()) {
          Durable.delete(note);
        }
      }
    }
    for (var volume : store.volumes()) {
      reopen(volume.id());
    }
    Files.deleteIfExists(files.socket());
    served.listen(UnixDomainSocketAddress.of(files.socket()));
  }

  /** One that cannot be opened is no reason to leave the others alone. */
  private void reopen(String id) {
    try {
      serveAgain(id);
    } catch (IOException | RuntimeException | InternalError e) {
      System.err.println("the volume " + id + " is not served for now: " + e);
      keepTrying(id);
    }
  }

  private void keepTrying(String id) {
    Thread.ofPlatform()
        .name("open " + id)
        .daemon()
        .start(
            () -> {
              try {
                do {
                  Thread.sleep(BETWEEN_TRIES);
                } while (!isOpened(id));
              } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
              }
            });
  }

  /** Or need not be. */
  private boolean isOpened(String id) {
    try {
      serveAgain(id);
      return true;
    } catch (IOException | RuntimeException | InternalError e) {
      return false; // Why was said by who tried first.
    }
  }

  public VolumeStore store() {
    return store;
  }

  /**
   * The volume, which is blank and in nobody's hands, begins as the disk of this image from now on.
   */
  public synchronized void draw(String id, String digest, long size) throws IOException {
    if (!digest.matches("sha256:[0-9a-f]{64}")) {
      throw PlatterException.of(Code.INVALID, "not the digest of an image", "");
    }
    served.awaitEnd(id);
    var volume = store.draw(id, new Drawn(digest, size, false));
    var drawn = volume.drawn();
    if (drawn != null) {
      serve(volume, drawn);
    }
  }

  private void serve(Volume volume, Drawn drawn) throws IOException {
    var id = volume.id();
    if (closed || served.find(id) != null) {
      return;
    }
    // First: without it a VM would read the device as it is.
    Durable.publish(files.note(id), drawn.digest());
    if (!LoopDevices.isUsed(store.bytes(volume))) {
      LazyVolume.mend(store.maps().live(id), () -> forgetCached(volume));
    }
    var image = new RemoteImage(images, drawn.digest(), drawn.size(), PAUSE, System.err::println);
    var lazy =
        new LazyVolume(store.bytes(volume), store.maps().map(id), store.maps().live(id), image);
    var filler =
        Thread.ofPlatform()
            .name("fill " + id)
            .daemon()
            .unstarted(() -> fill(id, lazy, image, drawn));
    served.add(id, new Served(lazy, image, filler));
  }

  /** What the kernel could not store may be in memory for a while, and then be gone. */
  private void forgetCached(Volume volume) throws IOException {
    Tool.run("dd", "if=" + store.bytes(volume), "iflag=nocache", "count=0", "status=none");
  }

  private void fill(String id, LazyVolume volume, RemoteImage image, Drawn drawn) {
    var begun = System.nanoTime();
    var since = 0;
    var more = !drawn.complete();
    try {
      while (more && isServed(id, volume)) {
        if (volume.quiet().compareTo(quiet) < 0
            && System.nanoTime() - begun < quiet.multipliedBy(PATIENCE).toNanos()) {
          Thread.sleep(PAUSE);
          continue;
        }
        try {
          more = volume.fillSome();
          if (!more && !volume.finish()) {
            more = true; // Some of it could not be stored, as somebody else was told.
          } else if (more && ++since % BETWEEN_SYNCS == 0) {
            volume.flush();
          }
          if (!more) {
            store.completed(id);
            image.close(); // Nobody asks any more, and the daemon has other clients.
          }
        } catch (IOException | RuntimeException | InternalError e) {
          // Such as when the pool is full; a page of a map is then an error of the JVM.
          if (isServed(id, volume)) {
            more = true;
            System.err.println("the volume " + id + " is not filled for now: " + e);
            if (volume.isBroken()) {
              break; // Whoever has it has to end before it is opened anew.
            }
            Thread.sleep(BETWEEN_TRIES);
          }
        }
      }
      release(id);
    } catch (IOException | RuntimeException e) {
      System.err.println("the volume " + id + " stays with the driver: " + e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  private synchronized boolean isServed(String id, LazyVolume volume) {
    var now = served.find(id);
    return !closed && now != null && now.volume() == volume;
  }

  /**
   * Fails while the volume is not to be had.
   *
   * @param byVm whether it is for a VM, which knows by its note that it has to use the socket
   */
  public void admit(String id, boolean byVm) throws IOException {
    var volume = store.existing(id);
    var drawn = volume.drawn();
    if (drawn == null) {
      return;
    }
    if (byVm) {
      reopenIfBroken(id);
      serveAgain(id);
      return;
    }
    var here = served.find(id);
    if (!drawn.complete()) {
      throw PlatterException.of(
          Code.UNAVAILABLE,
          "the disk of the volume is still being fetched: %s of %s"
              .formatted(here == null ? "a part" : here.volume().percent() + " %", drawn.digest()),
          "A VM can use it already; the pod starts when all of it is there.");
    }
    // Whoever looked at the device before may have left zeros in memory.
    for (var device : LoopDevices.of(store.bytes(volume))) {
      Tool.run("blockdev", "--flushbufs", device.path().toString());
    }
  }

  /** What could not be opened before perhaps can be now. */
  private synchronized void serveAgain(String id) throws IOException {
    served.awaitEnd(id); // First: its record says what was made of it.
    var volume = store.volume(id);
    var drawn = volume.map(Volume::drawn);
    if (drawn.isEmpty()) {
      return;
    }
    try {
      serve(volume.get(), drawn.get());
    } catch (IOException e) {
      throw PlatterException.of(
          Code.UNAVAILABLE,
          "the volume %s begins as an image, and cannot be served: %s"
              .formatted(id, e.getMessage()),
          "Is there room in the pool? It is tried again.");
    }
  }

  /**
   * Stops to serve a volume that is complete and has no device. One that is broken and has none is
   * opened anew.
   */
  public void release(String id) throws IOException {
    Served gone = null;
    synchronized (this) {
      var volume = store.volume(id);
      if (volume.isEmpty() || volume.get().drawn() == null) {
        return;
      }
      if (volume.get().isWhole() && !LoopDevices.isUsed(store.bytes(volume.get()))) {
        Durable.delete(files.note(id));
        store.undraw(id);
        gone = served.stop(id);
      }
    }
    served.end(id, gone);
    reopenIfBroken(id);
  }

  /** Unless there is a device of it: whoever has that has to learn that he has lost something. */
  private void reopenIfBroken(String id) throws IOException {
    Served broken;
    synchronized (this) {
      broken = served.find(id);
      var volume = store.volume(id);
      if (broken == null
          || !broken.volume().isBroken()
          || volume.isEmpty()
          || LoopDevices.isUsed(store.bytes(volume.get()))) {
        return;
      }
      broken = served.stop(id);
    }
    served.end(id, broken);
    reopen(id);
  }

  /** Of a volume that was deleted. */
  public void forget(String id) throws IOException {
    Served gone;
    synchronized (this) {
      if (store.volume(id).isPresent()) {
        return;
      }
      Durable.delete(files.note(id));
      gone = served.stop(id);
    }
    served.end(id, gone);
  }

  /** Guests wait for who comes next. */
  @Override
  public void close() throws IOException {
    synchronized (this) {
      closed = true;
    }
    served.close();
  }
}
