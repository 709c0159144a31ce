package dev.platter.node.image;

import dev.platter.block.BlockDevice;
import dev.platter.block.base.Base;
import dev.platter.block.base.BaseFiles;
import dev.platter.block.base.Hydrator;
import dev.platter.block.base.Rate;
import dev.platter.image.BadImageException;
import dev.platter.image.BootTrace;
import dev.platter.image.Digest;
import dev.platter.model.PlatterException;
import dev.platter.model.PlatterException.Code;
import dev.platter.node.durable.Cancellation;
import dev.platter.node.durable.Durable;
import dev.platter.registry.RegistryClient;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.time.Instant;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** An image that is here in part. Its base can be read at once; it is completed when told to. */
final class LazyImage implements AutoCloseable {
  private static final long TELL_MILLIS = 100;
  private static final Duration LONGEST_BOOT = Duration.ofMinutes(10);

  private final ImageStore store;
  private final DiskOpener.Opened disk;
  private volatile ImageRecord record;
  private final long fetchedBefore;
  private final Object recording = new Object();
  private boolean kept;
  private boolean closing;
  private volatile Consumer<ImageRecord> listener = _ -> {};
  private volatile @Nullable String trouble;
  private @Nullable Attempt attempt;
  private volatile int traced;
  private volatile @Nullable BadImageException badness;

  /** One try to complete the base; the next follows if it was cut short. */
  private record Attempt(Hydrator hydrator, CompletableFuture<ImageRecord> end) {}

  private LazyImage(ImageStore store, DiskOpener.Opened disk, ImageRecord record) {
    this.store = store;
    this.disk = disk;
    this.record = record;
    this.fetchedBefore = record.fetched();
  }

  static LazyImage open(
      ImageStore store,
      DiskOpener.Opened disk,
      String reference,
      String digest,
      @Nullable ImageRecord before)
      throws IOException {
    try {
      var record =
          before != null
              ? before
              : new ImageRecord(
                  digest,
                  reference,
                  disk.name(),
                  disk.base().format(),
                  disk.base().size(),
                  ImageRecord.State.LAZY,
                  null,
                  0,
                  0,
                  Instant.now().toString());
      var image = new LazyImage(store, disk, record);
      if (before == null) {
        store.show(record);
      }
      store.donate(digest, disk.base());
      image.recordBoot();
      disk.advice().ifPresent(image::fetchAhead);
      disk.badNews().tell(image::quarantine);
      return image;
    } catch (IOException | RuntimeException e) {
      disk.close();
      throw e;
    }
  }

  /** As it was last stored. */
  ImageRecord record() {
    return record;
  }

  BlockDevice device() {
    return disk.base();
  }

  /** Is told when the image is sealed or put in quarantine, also if that has happened. */
  synchronized void whenEnded(Consumer<ImageRecord> consumer) {
    listener = consumer;
    if (ended()) {
      consumer.accept(record);
    }
  }

  private Path trace() {
    return new BaseFiles(store.directory(record.digest())).trace();
  }

  /** The first boot of an image is recorded, so that it can be pushed in the order of its reads. */
  private void recordBoot() throws IOException {
    if (Files.exists(trace())) {
      traced = BootTrace.read(trace()).blocks().length;
    } else {
      disk.base().record(LONGEST_BOOT);
    }
  }

  /** Fetches what others saw a guest read, unless the layer is in that order anyway. */
  private void fetchAhead(RegistryClient registry) {
    Thread.ofPlatform()
        .name("fetch-ahead")
        .daemon()
        .start(
            () -> {
              try {
                var trace =
                    TraceReferrer.find(
                        registry, Digest.parse(record.digest()), record.virtualSize());
                if (trace.isPresent()) {
                  disk.base().prefetch(trace.get());
                }
              } catch (IOException | RuntimeException e) {
                // It was only advice; whoever needs a block asks for it.
              }
            });
  }

  /** The guest has nothing to read any more: what it has read until now was its boot. */
  void booted() {
    keepTrace(disk.base().trace());
  }

  /** A part of a boot is of more use than nothing, should the rest of it not be seen. */
  private void keepTrace(@Nullable BootTrace recorded) {
    synchronized (recording) {
      if (closing || record.state() == ImageRecord.State.QUARANTINED) {
        return;
      }
      try {
        if (recorded != null && recorded.blocks().length > traced) {
          Durable.publish(trace(), recorded.toBytes());
          traced = recorded.blocks().length;
        }
      } catch (IOException e) {
        trouble = "the boot trace cannot be stored: " + e.getMessage();
      }
    }
  }

  /** After the next start it is known what came, if perhaps not the last of it. */
  void keepCounts() {
    synchronized (recording) {
      if (closing || !kept || ended()) {
        return;
      }
      var now = counted(record.state(), record.why());
      try {
        if (!now.equals(record)) {
          store.update(now);
          record = now;
        }
      } catch (IOException e) {
        // The next try may succeed, and nothing else depends on it.
      }
    }
  }

  /** The map of a base remembers what was copied, but not what was fetched. */
  private ImageRecord counted(ImageRecord.State state, @Nullable String why) {
    var status = disk.base().status();
    return record.with(
        state, why, fetchedBefore + status.bytesFetched(), status.bytesDeduplicated());
  }

  /** Whether somebody has to stay for it. */
  synchronized boolean working() {
    return attempt != null && !attempt.end.isDone();
  }

  boolean ended() {
    return record.state() != ImageRecord.State.LAZY;
  }

  /** Whether its stream ended too early, for a reason that may be over. */
  boolean isCut() {
    return !ended() && disk.base().isCut();
  }

  /**
   * Completes the base in the background, if nobody does already.
   *
   * @param rate of all images that are completed so; without one, whoever does already hurries
   */
  synchronized CompletableFuture<ImageRecord> hydrate(Rate rate) {
    if (attempt != null && (ended() || !attempt.end.isDone())) {
      if (rate == Rate.NONE) {
        attempt.hydrator.hurry();
      }
      return attempt.end;
    }
    var now = new Attempt(new Hydrator(disk.base(), rate), new CompletableFuture<>());
    attempt = now;
    Thread.ofPlatform().name("hydrate").daemon().start(() -> run(now));
    return now.end;
  }

  private void run(Attempt now) {
    try {
      keepTrace(disk.base().traceSoFar());
      if (now.hydrator.run()) {
        seal();
        now.end.complete(record);
        listener.accept(record);
      } else {
        now.end.completeExceptionally(reason(new IOException("stopped")));
      }
    } catch (BadImageException e) {
      quarantine(e);
      now.end.completeExceptionally(e);
    } catch (IOException | RuntimeException e) {
      trouble = String.valueOf(e.getMessage());
      now.end.completeExceptionally(reason(e));
    }
  }

  /** Whoever found the image bad has stopped the others, who know less. */
  private Exception reason(Exception found) {
    var bad = badness;
    return bad == null ? found : bad;
  }

  private void seal() throws IOException {
    var directory = store.directory(record.digest());
    var files = new BaseFiles(directory);
    Files.setPosixFilePermissions(files.raw(), PosixFilePermissions.fromString("r--r--r--"));
    keepTrace(disk.base().traceSoFar());
    publish(counted(ImageRecord.State.SEALED, null));
    store.keep(disk.indexes());
    store.forgetDownloads();
    files.removeWork();
    store.withdraw(record.digest());
    store.donate(record.digest());
  }

  private void publish(ImageRecord changed) throws IOException {
    synchronized (recording) {
      record = changed;
      store.publish(changed);
    }
  }

  /**
   * Makes durable, aside, what {@link ImageStore#show} has shown and what the image was opened by:
   * a guest waits for its first block. Once the image is closed nothing is written any more, since
   * its directory may be removed then.
   */
  void keep(Keepsakes keepsakes) {
    Thread.ofPlatform().name("keep").daemon().start(() -> keepNow(keepsakes));
  }

  private void keepNow(Keepsakes keepsakes) {
    synchronized (recording) {
      if (closing) {
        return;
      }
      keepsakes.write();
      try {
        if (!ended()) { // Then it was published, and a second time would look like being wanted.
          store.publish(record);
        }
        kept = true;
        Durable.syncDirectory(Durable.parent(store.directory(record.digest())));
      } catch (IOException e) {
        trouble = "its record cannot be kept: " + e.getMessage();
      }
    }
  }

  /** Nothing of it is served any more; the record stays and says why. */
  private synchronized void quarantine(BadImageException why) {
    if (ended()) {
      return;
    }
    badness = why;
    try {
      publish(counted(ImageRecord.State.QUARANTINED, why.getMessage() + users()));
      store.withdraw(record.digest());
    } catch (IOException e) {
      why.addSuppressed(e);
    }
    listener.accept(record);
  }

  private String users() {
    var names = store.users().of(record.digest());
    return names.isEmpty() ? "" : "; VMs that have used it: " + String.join(", ", names);
  }

  /** Completes the base and waits for it. */
  void complete(Images.BytesDone progress) {
    var end = hydrate(Rate.NONE);
    while (true) {
      try {
        end.get(TELL_MILLIS, TimeUnit.MILLISECONDS);
        return;
      } catch (TimeoutException e) {
        progress.bytes("pull", present(), record.virtualSize());
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
        throw Cancellation.cancelled();
      } catch (ExecutionException e) {
        throw failed(e.getCause());
      }
    }
  }

  private PlatterException failed(@Nullable Throwable cause) {
    if (cause instanceof IOException io) {
      try {
        return ImageErrors.explained(
            record.reference(),
            () -> {
              throw io;
            });
      } catch (PlatterException e) {
        return e;
      }
    }
    return PlatterException.of(Code.INTERNAL, "the image cannot be completed: " + cause, "");
  }

  private long present() {
    return Math.min(
        record.virtualSize(), disk.base().status().blocks().present() * (long) Base.BLOCK);
  }

  ImageStatus status() {
    var status = disk.base().status();
    var live =
        record.state() == ImageRecord.State.LAZY ? counted(record.state(), record.why()) : record;
    return new ImageStatus(
        live,
        present(),
        error(status.lastError()),
        ImageStatus.map(disk.base().blockMap(ImageStatus.CELLS)),
        traced);
  }

  private @Nullable String error(@Nullable String last) {
    return record.why() != null ? record.why() : last != null ? last : trouble;
  }

  /** Stops where it is; the next to open the image goes on. */
  @Override
  public void close() throws IOException {
    booted();
    keepCounts();
    synchronized (recording) {
      closing = true;
    }
    synchronized (this) {
      if (attempt != null) {
        attempt.hydrator.close();
      }
    }
    store.withdraw(record.digest());
    disk.close();
  }
}
