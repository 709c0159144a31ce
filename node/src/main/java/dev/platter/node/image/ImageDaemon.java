package dev.platter.node.image;

import dev.platter.block.FileDevice;
import dev.platter.block.base.BaseFiles;
import dev.platter.block.base.Rate;
import dev.platter.block.nbd.NbdServer;
import dev.platter.model.ImageLogins;
import dev.platter.model.PlatterException;
import dev.platter.node.durable.Durable;
import dev.platter.node.durable.FileMutex;
import dev.platter.node.web.WebAccess;
import dev.platter.node.web.WebVersion;
import dev.platter.plan.StateLayout;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.UnixDomainSocketAddress;
import java.nio.file.Files;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Owns the images of a machine: serves their bases by NBD while they are incomplete, completes them
 * when the guests are not busy booting, and takes commands.
 *
 * <p>Every image is an export, under its digest: QEMU connects again by itself after the daemon was
 * killed, and must find what it had. Those that are sealed are served from their files, before the
 * socket is there; the others as soon as they are open again, and QEMU asks until then.
 */
public final class ImageDaemon implements AutoCloseable {
  /**
   * @param idle how long it stays without anything to do; zero for ever
   * @param quiet for how long a guest must have read nothing before the rest of its image is
   *     fetched
   * @param patience after which the rest is fetched whatever the guest does
   * @param bytesPerSecond that all images together fetch at most in the background; 0 for no limit
   * @param limit in bytes of all images, layers of container images and downloads together, above
   *     which unused ones are removed; 0 for none
   */
  public record Options(
      Duration idle, Duration quiet, Duration patience, long bytesPerSecond, long limit) {}

  private static final Duration TICK = Duration.ofMillis(500);

  /**
   * To find out what large sparse files take is some work: no more than a twentieth of the time.
   */
  private static final int BETWEEN_LOOKS = 20;

  private final StateLayout layout;
  private final Options options;
  private final Rate rate;
  private final Consumer<String> sealed;
  private final FileMutex mutex;
  private final ImageStore store;
  private final NbdServer nbd = new NbdServer();
  private final ControlServer control;
  private final ServedImages images;
  private final ServedWeb web = new ServedWeb(nbd);
  private final Map<String, FileDevice> files = new HashMap<>();
  private final LayerDirectories layers;
  private String trouble = "";
  private long nextLook = System.nanoTime();

  private ImageDaemon(
      StateLayout layout,
      Options options,
      Consumer<String> sealed,
      FileMutex mutex,
      ImageStore store)
      throws IOException {
    this.layout = layout;
    this.options = options;
    this.rate = new Rate(options.bytesPerSecond());
    this.sealed = sealed;
    this.mutex = mutex;
    this.store = store;
    this.layers = new LayerDirectories(layout);
    this.images = new ServedImages(store, nbd, this::ended);
    for (var image : store.records().list()) {
      reopen(image);
    }
    Files.deleteIfExists(layout.nbdSocket());
    nbd.listen(UnixDomainSocketAddress.of(layout.nbdSocket()));
    this.control = new ControlServer(layout.daemonSocket(), this::answer);
  }

  /**
   * Empty if another daemon is on duty.
   *
   * @param users the VMs
   * @param sealed is told the digest of an image whose file can be used from now on
   */
  public static Optional<ImageDaemon> start(
      StateLayout layout,
      ImageSources sources,
      ImageUsers users,
      Consumer<String> sealed,
      Options options)
      throws IOException {
    Durable.makeDirectories(layout.run());
    var mutex = FileMutex.tryTake(layout.imagesLock());
    if (mutex.isEmpty()) {
      return Optional.empty();
    }
    return Optional.of(
        new ImageDaemon(
            layout, options, sealed, mutex.get(), new ImageStore(layout, sources, users)));
  }

  private void reopen(ImageRecord image) throws IOException {
    switch (image.state()) {
      case LAZY -> {
        if (store.isUsed(image.digest())) {
          images.reopen(image);
        }
      }
      case SEALED -> {
        var device = FileDevice.openReadOnly(layout.base(image.digest()));
        files.put(image.digest(), device);
        nbd.add(image.digest(), device);
        finishSealing(image.digest());
      }
      case QUARANTINED -> {}
    }
  }

  /** The daemon before may have been killed between sealing an image and telling of it. */
  private void finishSealing(String digest) throws IOException {
    new BaseFiles(layout.image(digest)).removeWork();
    if (store.isUsed(digest)) {
      Thread.ofPlatform().name("sealed").daemon().start(() -> sealed.accept(digest));
    }
  }

  /**
   * Works until there is nothing to do.
   *
   * @param alsoNeeded whether somebody else needs this process
   */
  public void run(BooleanSupplier alsoNeeded) throws InterruptedException {
    var idleSince = System.nanoTime();
    while (true) {
      Thread.sleep(TICK);
      mend();
      var now = images.open();
      now.forEach(image -> image.hydrateIfQuiet(options, rate));
      if (options.limit() > 0 && System.nanoTime() - nextLook >= 0) {
        var begun = System.nanoTime();
        keepBelowLimit();
        var ended = System.nanoTime();
        nextLook = ended + BETWEEN_LOOKS * (ended - begun);
      }
      var busy =
          alsoNeeded.getAsBoolean()
              || control.connections() > 0
              || nbd.connections() > 0
              || !web.isEmpty()
              || now.stream().anyMatch(image -> image.image().working());
      if (busy) {
        idleSince = System.nanoTime();
      } else if (!options.idle().isZero()
          && System.nanoTime() - idleSince > options.idle().toNanos()) {
        return;
      }
    }
  }

  private void mend() {
    try {
      images.mend();
    } catch (IOException | UncheckedIOException | PlatterException e) {
      System.err.println("cannot open an image anew whose stream was cut: " + e);
    }
  }

  /**
   * Removes unused images and layers, the longest unwanted first, until the others have room. What
   * they take is looked at again for each: one that was being completed takes less when it is.
   */
  private void keepBelowLimit() {
    try {
      if (isOverLimit()) {
        makeRoom();
      }
      trouble = "";
    } catch (IOException | UncheckedIOException | PlatterException e) {
      // Such as a VM whose plan cannot be read: it may use any image.
      if (!e.toString().equals(trouble)) {
        System.err.println("cannot make room for images: " + e);
        trouble = e.toString();
      }
    }
  }

  private boolean isOverLimit() throws IOException {
    return store.bytes() + layers.bytes() > options.limit();
  }

  private void makeRoom() throws IOException {
    var used = store.users().digests();
    for (var image : store.records().oldestFirst()) {
      if (!used.contains(image.digest())) {
        removeLayersBefore(store.records().wanted(image.digest()));
        if (!isOverLimit() || !remove(image)) {
          return;
        }
      }
    }
    removeLayersBefore(Instant.MAX);
    if (isOverLimit()) {
      store.forgetCutDownloads();
    }
  }

  private void removeLayersBefore(Instant time) throws IOException {
    layers.makeRoom(store.users()::layers, oldest -> oldest.isBefore(time) && isOverLimit());
  }

  /** False for one that is held: it is soon its turn again, before one that was wanted later. */
  private synchronized boolean remove(ImageRecord image) throws IOException {
    var held = new AtomicBoolean();
    store.collect(
        other -> {
          if (!other.digest().equals(image.digest())) {
            return false;
          }
          held.set(!letGo(other));
          return !held.get();
        });
    return !held.get();
  }

  /** As a command asks for it; the daemon itself knows secrets that are files. */
  public void serveWeb(String export, WebAccess access, @Nullable WebVersion expected) {
    web.serve(export, access, expected);
  }

  private Message.Done answer(Message request, Images.BytesDone progress) throws IOException {
    return switch (request) {
      case Message.Ensure ensure -> {
        var logins = new ImageLogins(ensure.logins());
        if (store.records().sealed(ensure.digest())) {
          store.records().touch(ensure.digest());
        } else {
          images.serve(ensure.reference(), ensure.digest(), logins, ensure.manifest());
        }
        store.admit(ensure.reference(), ensure.digest(), logins, progress);
        yield new Message.Done(List.of());
      }
      case Message.Complete complete -> {
        var logins = new ImageLogins(complete.logins());
        if (!store.records().sealed(complete.digest())) {
          images
              .serve(complete.reference(), complete.digest(), logins, null)
              .image()
              .complete(progress);
        }
        store.admit(complete.reference(), complete.digest(), logins, progress);
        yield new Message.Done(List.of());
      }
      case Message.ServeWeb serve -> {
        var version = web.serve(serve.export(), serve.access(), serve.expected());
        yield new Message.Done(List.of(), version);
      }
      case Message.ForgetWeb forget -> {
        web.forget(forget.export());
        yield new Message.Done(List.of());
      }
      case Message.Look _ -> new Message.Done(look());
      case Message.Collect _ -> new Message.Done(collect());
      case Message.Bytes _, Message.Done _, Message.Failed _ ->
          throw new IOException("not a request: " + request);
    };
  }

  private void ended(ImageRecord record) {
    switch (record.state()) {
      case SEALED -> sealed.accept(record.digest());
      // Its guests wait from now on, rather than go on with a disk that is not what was promised.
      // On a thread of its own: whoever found out may be the one who is waited for.
      case QUARANTINED ->
          Thread.ofPlatform().name("quarantine").daemon().start(() -> discard(record));
      case LAZY -> throw new IllegalStateException("an image that has ended is not lazy");
    }
  }

  private void discard(ImageRecord record) {
    try {
      images.remove(record.digest());
      store.discard(record.digest());
    } catch (IOException e) {
      System.err.println("cannot remove what is left of " + record.reference() + ": " + e);
    }
  }

  private List<ImageStatus> look() throws IOException {
    var out = new ArrayList<ImageStatus>();
    for (var record : store.records().list()) {
      var served = images.find(record.digest());
      out.add(served.isEmpty() ? ImageStatus.of(layout, record) : served.get().image().status());
    }
    return out;
  }

  private synchronized List<ImageStatus> collect() throws IOException {
    var gone = store.collect(this::letGo);
    return gone.stream().map(ImageStatus::gone).toList();
  }

  private boolean letGo(ImageRecord record) {
    try {
      if (images.find(record.digest()).filter(image -> image.image().working()).isPresent()) {
        return false;
      }
      images.remove(record.digest());
      var file = files.remove(record.digest());
      if (file != null) {
        nbd.remove(record.digest());
        file.close();
      }
      return true;
    } catch (IOException e) {
      return false;
    }
  }

  @Override
  public void close() throws IOException {
    control.close();
    web.close();
    nbd.close();
    synchronized (this) {
      images.close();
      for (var file : files.values()) {
        file.close();
      }
    }
    store.close();
    mutex.close();
  }
}
