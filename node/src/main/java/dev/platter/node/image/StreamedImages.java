package dev.platter.node.image;

import dev.platter.block.BlockDevice;
import dev.platter.block.FileDevice;
import dev.platter.block.base.Rate;
import dev.platter.model.ImageLogins;
import dev.platter.model.PlatterException;
import dev.platter.model.PlatterException.Code;
import dev.platter.node.durable.Durable;
import dev.platter.node.durable.FileMutex;
import dev.platter.plan.StateLayout;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicReference;

/**
 * Images of a process that serves them itself, beside no daemon and no VM: each can be read at once
 * and is completed when its readers are quiet, as in {@link ImageDaemon}.
 */
public final class StreamedImages implements AutoCloseable {
  /** Less than a daemon's: such a process is small, and there may be one for each VM. */
  private static final long CACHE = 8 << 20;

  private static final ImageDaemon.Options OPTIONS =
      new ImageDaemon.Options(Duration.ZERO, Duration.ofSeconds(15), Duration.ofMinutes(5), 0, 0);

  private final StateLayout layout;
  private final ImageSources sources;
  private final FileMutex mutex;
  private final ImageStore store;
  private final Map<String, BlockDevice> devices = new HashMap<>();
  private final List<ServedImage> lazy = new ArrayList<>();
  private final AtomicReference<Optional<PlatterException>> badNews =
      new AtomicReference<>(Optional.empty());

  private StreamedImages(
      StateLayout layout, ImageSources sources, FileMutex mutex, ImageStore store) {
    this.layout = layout;
    this.sources = sources;
    this.mutex = mutex;
    this.store = store;
  }

  /** Fails if another process owns the images there. */
  public static StreamedImages open(StateLayout layout, ImageSources sources) throws IOException {
    Durable.makeDirectories(layout.state());
    var mutex =
        FileMutex.tryTake(layout.imagesLock())
            .orElseThrow(
                () ->
                    PlatterException.of(
                        Code.CONFLICT,
                        "the images in " + layout.state() + " are another process's",
                        "Name another directory with --state, or none at all."));
    try {
      return new StreamedImages(
          layout, sources, mutex, new ImageStore(layout, sources, ImageUsers.NONE, CACHE));
    } catch (IOException | RuntimeException e) {
      mutex.close();
      throw e;
    }
  }

  /**
   * The disk of an image, to be read only. It is closed with this; the same image has one disk.
   *
   * @param reference what it is now is what is served from now on
   */
  public synchronized BlockDevice open(String reference) throws IOException {
    var located = ImageErrors.explained(reference, () -> sources.find(reference));
    var resolved = ImageErrors.explained(reference, () -> located.resolve(Images.BytesDone.NOBODY));
    var digest = resolved.descriptor().digest().toString();
    var there = devices.get(digest);
    if (there != null) {
      return there;
    }
    var device =
        store.records().sealed(digest)
            ? FileDevice.openReadOnly(layout.base(digest))
            : lazily(located.name(), digest, resolved.bytes());
    devices.put(digest, device);
    return device;
  }

  private BlockDevice lazily(String name, String digest, byte[] manifest) throws IOException {
    var image = store.open(name, digest, ImageLogins.NONE, manifest);
    var served = new ServedImage(image);
    lazy.add(served);
    image.whenEnded(this::ended);
    return served;
  }

  private void ended(ImageRecord record) {
    if (record.state() == ImageRecord.State.QUARANTINED) {
      badNews.set(
          Optional.of(
              PlatterException.of(
                  Code.REFUSED,
                  "the image " + record.reference() + " is refused: " + record.why(),
                  "Push it again.")));
    }
  }

  /** To be called now and then: completes what nobody is busy reading. */
  public synchronized void goOn() {
    for (var image : lazy) {
      image.hydrateIfQuiet(OPTIONS, Rate.NONE);
      if (image.image().isCut()) {
        var status = image.image().status();
        badNews.compareAndSet(Optional.empty(), Optional.of(cut(status)));
      }
    }
  }

  private static PlatterException cut(ImageStatus status) {
    return PlatterException.of(
        Code.UNAVAILABLE,
        "the image %s could not be read to its end: %s"
            .formatted(status.image().reference(), status.error()),
        "Serve it again: it is read from its start then.");
  }

  /** What is wrong with an image that must not be served any longer. */
  public Optional<PlatterException> badNews() {
    return badNews.get();
  }

  @Override
  public synchronized void close() throws IOException {
    for (var image : lazy) {
      image.image().close();
    }
    for (var device : devices.values()) {
      device.close();
    }
    store.close();
    mutex.close();
  }
}
