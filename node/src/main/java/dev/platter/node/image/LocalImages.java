package dev.platter.node.image;

import dev.platter.model.ImageLogins;
import dev.platter.model.PlatterException;
import dev.platter.model.PlatterException.Code;
import dev.platter.node.durable.Cancellation;
import dev.platter.node.durable.Durable;
import dev.platter.node.durable.FileMutex;
import dev.platter.node.web.WebAccess;
import dev.platter.node.web.WebVersion;
import dev.platter.plan.StateLayout;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Images without a daemon: each call owns the store for as long as it takes, and an image that is
 * wanted is fetched in full, since nobody would serve it afterwards.
 */
public final class LocalImages implements Images {
  private static final Duration PATIENCE = Duration.ofHours(1);

  private final StateLayout layout;
  private final ImageSources sources;
  private final ImageUsers users;
  private final ImageRecords records;

  public LocalImages(StateLayout layout, ImageSources sources, ImageUsers users) {
    this.layout = layout;
    this.sources = sources;
    this.users = users;
    this.records = new ImageRecords(layout);
  }

  @Override
  public String resolve(String reference, ImageLogins logins, BytesDone progress) {
    return ImageErrors.explained(
        reference,
        () -> sources.find(reference, logins).resolve(progress).descriptor().digest().toString());
  }

  @Override
  public void ensure(String reference, String digest, ImageLogins logins, BytesDone progress)
      throws IOException {
    complete(reference, digest, logins, progress);
  }

  @Override
  public void complete(String reference, String digest, ImageLogins logins, BytesDone progress)
      throws IOException {
    if (records.sealed(digest) && new ImagePlaces(layout).of(digest).isEmpty()) {
      return;
    }
    var found = ImageErrors.explained(reference, () -> sources.find(reference));
    try (var _ = lock();
        var store = new ImageStore(layout, sources, users)) {
      if (records.sealed(digest)) {
        store.admit(found.name(), digest, logins, progress);
        return;
      }
      try (var image = store.open(found.name(), digest, logins, null)) {
        image.complete(progress);
      } catch (IOException | RuntimeException e) {
        // Nobody has used it: what is left of a failure is of no use to anybody.
        Cancellation.shield(() -> forget(digest, e));
        throw e;
      }
    }
  }

  private void forget(String digest, Exception cause) {
    try {
      Durable.deleteTree(layout.image(digest));
    } catch (IOException e) {
      cause.addSuppressed(e);
    }
  }

  /** Nobody reads through a daemon. */
  @Override
  public void serveAgain(String reference, String digest) {}

  @Override
  public void keepDaemon() {}

  @Override
  public void keepDaemonWhenShort(long process, List<Path> directories, long bytes) {}

  @Override
  public WebVersion serveWeb(String export, WebAccess access, @Nullable WebVersion expected) {
    throw PlatterException.of(
        Code.UNSUPPORTED,
        access + " can only be read through the daemon, which is not used here",
        "Use copy mode clone.");
  }

  @Override
  public void forgetWeb(String export) {}

  @Override
  public boolean sealed(String digest) throws IOException {
    return records.sealed(digest);
  }

  @Override
  public boolean isHere(String reference, String digest) throws IOException {
    return records.sealed(digest) && new ImagePlaces(layout).isOpenTo(sources, reference, digest);
  }

  @Override
  public List<ImageStatus> list() throws IOException {
    return ImageStatus.of(layout, records.list());
  }

  @Override
  public List<ImageRecord> collect() throws IOException {
    try (var _ = lock();
        var store = new ImageStore(layout, sources, users)) {
      return store.collect(_ -> true);
    }
  }

  private FileMutex lock() throws IOException {
    return FileMutex.take(layout.imagesLock(), "the images", PATIENCE);
  }

  @Override
  public void close() {}
}
