package dev.platter.node.image;

import dev.platter.block.base.Base;
import dev.platter.block.base.BaseFiles;
import dev.platter.block.base.ChunkCache;
import dev.platter.image.BadImageException;
import dev.platter.image.Digest;
import dev.platter.image.lazy.LayerIndex;
import dev.platter.image.oci.BlobSource;
import dev.platter.image.oci.Descriptor;
import dev.platter.image.oci.Document;
import dev.platter.image.oci.Manifest;
import dev.platter.image.raw.SparseFile;
import dev.platter.model.ImageLogins;
import dev.platter.model.PlatterException;
import dev.platter.model.PlatterException.Code;
import dev.platter.node.durable.Durable;
import dev.platter.plan.StateLayout;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * The images' directories, one for each manifest digest. The record is published last: a directory
 * without one is a beginning that was cut short, and is begun anew.
 *
 * <p>One process owns them at a time: whoever holds the images' lock, which is the caller's to see
 * to.
 */
final class ImageStore implements AutoCloseable {
  private static final long CACHE = 48 << 20;

  private final StateLayout layout;
  private final ImageSources sources;
  private final ImageUsers users;
  private final ImageRecords records;
  private final ImagePlaces places;
  private final Donors donors = new Donors();
  private final DiskOpener.Store shared;
  private final WebStore web;

  /**
   * @param users the VMs
   */
  ImageStore(StateLayout layout, ImageSources sources, ImageUsers users) throws IOException {
    this(layout, sources, users, CACHE);
  }

  /**
   * @param cache how many bytes of unpacked chunks are kept in memory
   */
  ImageStore(StateLayout layout, ImageSources sources, ImageUsers users, long cache)
      throws IOException {
    this.layout = layout;
    this.sources = sources;
    this.users = users;
    this.records = new ImageRecords(layout);
    this.places = new ImagePlaces(layout);
    this.shared =
        new DiskOpener.Store(new ChunkCache(cache), donors, new IndexStore(layout.indexes()));
    this.web = new WebStore(layout);
    Durable.makeDirectories(layout.images());
    web.clean(this::isUsed, false);
    Durable.deleteTree(layout.spool());
    for (var image : records.list()) {
      if (image.state() == ImageRecord.State.SEALED) {
        donate(image.digest());
      }
    }
  }

  ImageRecords records() {
    return records;
  }

  /** Other images may copy from a sealed base. */
  void donate(String digest) throws IOException {
    if (Files.exists(new BaseFiles(layout.image(digest)).index())) {
      donors.add(layout.image(digest), places.of(digest));
    }
  }

  /** Opens an image that is not sealed, or begins it; nothing is left of one that is refused. */
  LazyImage open(String reference, String digest, ImageLogins logins, byte @Nullable [] manifest)
      throws IOException {
    var before = records.find(digest);
    before.ifPresent(ImageStore::refuseQuarantined);
    return ImageErrors.explained(
        reference,
        () -> {
          var directory = layout.image(digest);
          if (before.isEmpty()) {
            Durable.deleteTree(directory);
            Durable.makeDirectories(directory);
          }
          try {
            var source = new Ways(sources, reference, logins, usersOf(digest));
            var keepsakes = new Keepsakes();
            // Who has logins is let in by the registry, whatever manifest they know of.
            var given = logins.isEmpty() ? manifest : null;
            var found = manifest(source, digest, given, keepsakes);
            if (before.isEmpty() && source.loggedIn()) {
              places.add(digest, source.place());
            }
            var disk = DiskOpener.open(directory, source, found, shared, keepsakes);
            var image = LazyImage.open(this, disk, reference, digest, before.orElse(null));
            image.keep(keepsakes);
            return image;
          } catch (IOException | RuntimeException e) {
            if (before.isEmpty()) {
              Durable.deleteTree(directory);
            }
            throw e;
          }
        });
  }

  private Ways.Users usersOf(String digest) {
    return new Ways.Users() {
      @Override
      public List<Way> ways() {
        return users.ways(digest);
      }

      @Override
      public boolean isPlace(String place) throws IOException {
        return places.of(digest).contains(place);
      }
    };
  }

  /**
   * Lets somebody use an image that is here. If others had to log in for it, and elsewhere, then
   * their own registry has to have all of it, and not only to know of it: it is read once, and not
   * kept.
   */
  void admit(String reference, String digest, ImageLogins logins, Images.BytesDone progress) {
    ImageErrors.explained(
        reference,
        () -> {
          var own = sources.at(reference, logins);
          if (places.isOpenTo(own.place(), digest)) {
            return true;
          }
          if (Document.parse(Files.readAllBytes(layout.manifest(digest)))
              instanceof Manifest manifest) {
            for (var layer : manifest.layers()) {
              readThrough(own.source(), layer, progress);
            }
          }
          places.add(digest, own.place());
          return true;
        });
  }

  private static void readThrough(BlobSource source, Descriptor layer, Images.BytesDone progress)
      throws IOException {
    try (var in = source.open(layer)) {
      var buffer = new byte[1 << 16];
      var done = 0L;
      for (var n = in.read(buffer); n >= 0; n = in.read(buffer)) {
        done += n;
        progress.bytes("check", done, layer.size());
      }
    }
  }

  private static void refuseQuarantined(ImageRecord image) {
    if (image.state() == ImageRecord.State.QUARANTINED) {
      throw PlatterException.of(
          Code.REFUSED,
          "the image " + image.reference() + " is in quarantine: " + image.why(),
          "Push it again. When no VM uses it any more, 'platter gc' forgets it.");
    }
  }

  /** From the directory, from whoever asked, or from the registry. */
  private Manifest manifest(
      Ways source, String digest, byte @Nullable [] given, Keepsakes keepsakes) throws IOException {
    var file = layout.manifest(digest);
    byte[] bytes;
    if (Files.exists(file)) {
      bytes = Files.readAllBytes(file);
    } else {
      bytes = given == null ? fetchManifest(source, digest) : given;
      keepsakes.add(file, bytes);
    }
    if (!Digest.of(bytes).toString().equals(digest)) {
      throw new BadImageException("the manifest's digest is " + Digest.of(bytes));
    }
    if (Document.parse(bytes) instanceof Manifest manifest) {
      return manifest;
    }
    throw new BadImageException(digest + " is an index of images, not an image");
  }

  /** Two connections will be wanted for what follows; the second is opened beside the first. */
  private static byte[] fetchManifest(Ways source, String digest) throws IOException {
    source
        .registry()
        .ifPresent(registry -> Thread.ofVirtual().name("connect").start(registry::connect));
    return source.resolve(digest).bytes();
  }

  /** For the day that an image with these layers is wanted again. */
  void keep(List<LayerIndex> indexes) throws IOException {
    for (var index : indexes) {
      shared.indexes().keep(index);
    }
  }

  /** The base of an image from the web is complete. */
  void forgetDownloads() throws IOException {
    web.clean(this::isUsed, false);
  }

  /** Also those that were cut short and could be gone on with. */
  void forgetCutDownloads() throws IOException {
    web.clean(this::isUsed, true);
  }

  /** What all images take on the disk, with files from the web that are to be such. */
  long bytes() throws IOException {
    long bytes = web.bytes();
    for (var image : records.list()) {
      bytes += bytesOf(image.digest());
    }
    return bytes;
  }

  private long bytesOf(String digest) throws IOException {
    long bytes = 0;
    try (var files = Files.list(layout.image(digest))) {
      for (var file : files.filter(Files::isRegularFile).toList()) {
        bytes += SparseFile.allocated(file);
      }
    } catch (NoSuchFileException e) {
      return 0;
    }
    return bytes;
  }

  /** Others may copy from a base that is open. */
  void donate(String digest, Base base) throws IOException {
    donors.add(base, places.of(digest));
  }

  /** Nobody copies from it any more. */
  void withdraw(String digest) throws IOException {
    donors.remove(layout.image(digest));
  }

  Path directory(String digest) {
    return layout.image(digest);
  }

  /** As {@link ImageRecords#show}. */
  void show(ImageRecord record) throws IOException {
    records.show(layout.imageRecord(record.digest()), record);
  }

  /** As {@link ImageRecords#update}. */
  void update(ImageRecord record) throws IOException {
    records.update(layout.imageRecord(record.digest()), record);
  }

  void publish(ImageRecord record) throws IOException {
    records.publish(layout.imageRecord(record.digest()), record);
  }

  /** Removes the bytes of an image in quarantine, and its record too if no VM has used it. */
  void discard(String digest) throws IOException {
    var directory = layout.image(digest);
    if (!isUsed(digest)) {
      Durable.deleteTree(directory);
      return;
    }
    var kept = Set.of(layout.imageRecord(digest), layout.manifest(digest));
    try (var files = Files.list(directory)) {
      for (var file : files.filter(file -> !kept.contains(file)).toList()) {
        Durable.deleteTree(file);
      }
    }
  }

  ImageUsers users() {
    return users;
  }

  boolean isUsed(String digest) {
    return users.digests().contains(digest);
  }

  /**
   * Removes images that no VM's plan names and that {@code remove} lets go. An image disappears by
   * one rename. A plan is published before its image is looked for: so a start that still saw the
   * image is seen by the second look at the plans, and the image comes back.
   */
  List<ImageRecord> collect(Predicate<ImageRecord> remove) throws IOException {
    Durable.makeDirectories(layout.spool());
    var gone = new ArrayList<ImageRecord>();
    var before = users.digests();
    for (var image : records.list()) {
      if (!before.contains(image.digest()) && remove.test(image) && removed(image.digest())) {
        gone.add(image);
      }
    }
    Durable.deleteTree(layout.spool());
    web.clean(this::isUsed, true);
    return gone;
  }

  private boolean removed(String digest) throws IOException {
    var directory = layout.image(digest);
    donors.remove(directory);
    var away = layout.spool().resolve(directory.getFileName());
    Files.move(directory, away, StandardCopyOption.ATOMIC_MOVE);
    if (isUsed(digest)) {
      Files.move(away, directory, StandardCopyOption.ATOMIC_MOVE);
      if (records.sealed(digest)) {
        donate(digest);
      }
      return false;
    }
    Durable.deleteTree(away);
    return true;
  }

  @Override
  public void close() throws IOException {
    donors.close();
  }
}
