package dev.platter.node;

import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.platter.image.BadImageException;
import dev.platter.image.lazy.DiskImage;
import dev.platter.image.oci.BlobSource;
import dev.platter.image.oci.ExtractedDisk;
import dev.platter.image.oci.Resolved;
import dev.platter.model.DiskFormat;
import dev.platter.plan.StateLayout;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.function.Supplier;

/**
 * The images on this machine: for each manifest digest a directory with one sealed, sparse, raw
 * base.
 *
 * <p>A pull works in the spool and becomes visible by one rename of its directory, so an image is
 * there as a whole or not at all. One lock serialises pulls and garbage collection; whoever holds
 * it may clear the spool, since nobody alive is using it.
 */
public final class ImageStore {
  private static final ObjectMapper JSON =
      new ObjectMapper().disable(DeserializationFeature.FAIL_ON_UNKNOWN_PROPERTIES);
  private static final Duration PATIENCE = Duration.ofHours(1);

  private final StateLayout layout;
  private final ImageSources sources;
  private final LocalDisks disks;
  private final Progress progress;

  /**
   * @param digest of the image's manifest
   * @param reference what it was pulled as
   * @param file the disk's name in the image
   * @param format how the disk lay in the image
   * @param virtualSize the size of the disk that a guest sees
   */
  public record Image(
      String digest,
      String reference,
      String file,
      String format,
      long virtualSize,
      String pulled) {}

  ImageStore(StateLayout layout, ImageSources sources, LocalDisks disks, Progress progress) {
    this.layout = layout;
    this.sources = sources;
    this.disks = disks;
    this.progress = progress;
  }

  /** What the reference means now. Nothing is stored. */
  public String resolve(String reference) {
    return ImageErrors.explained(
        reference, () -> resolved(sources.find(reference)).descriptor().digest().toString());
  }

  private static Resolved resolved(ImageSources.Located located) throws IOException {
    return located.source().resolve(located.tagOrDigest());
  }

  /** Makes sure that the base is here. */
  void ensure(String reference, String digest) throws IOException {
    if (Files.isRegularFile(layout.imageRecord(digest))) {
      return;
    }
    try (var _ = lock()) {
      if (!Files.isRegularFile(layout.imageRecord(digest))) {
        Durable.deleteTree(layout.spool());
        Durable.makeDirectories(layout.spool());
        ImageErrors.explained(
            reference,
            () -> {
              pull(reference, digest);
              return digest;
            });
      }
    }
  }

  private void pull(String reference, String digest) throws IOException {
    var located = sources.find(reference);
    var resolved = located.source().resolve(digest);
    var work = layout.spooledImage();
    Durable.makeDirectories(work);
    try {
      var disk = extract(located.source(), resolved, work);
      var base = layout.spooledBase();
      var size = makeBase(disk, base);
      Files.deleteIfExists(disk.file());
      Files.setPosixFilePermissions(base, PosixFilePermissions.fromString("r--r--r--"));
      var image =
          new Image(
              digest,
              reference,
              disk.name(),
              disk.format().name().toLowerCase(java.util.Locale.ROOT),
              size,
              Instant.now().toString());
      Durable.publish(layout.spooledRecord(), JSON.writeValueAsBytes(image));
      Files.move(work, layout.image(digest), StandardCopyOption.ATOMIC_MOVE);
      Durable.syncDirectory(layout.images());
    } catch (IOException | RuntimeException e) {
      Cancellation.shield(() -> clearSpool(e));
      throw e;
    }
    Durable.deleteTree(layout.spool());
  }

  private ExtractedDisk extract(BlobSource source, Resolved resolved, Path work)
      throws IOException {
    return DiskImage.extract(
        source,
        resolved.manifest(),
        work,
        (layer, bytes) -> progress.bytes("pull", bytes, layer.size()));
  }

  /** The size of the disk. */
  private long makeBase(ExtractedDisk disk, Path base) throws IOException {
    switch (disk.format()) {
      case RAW -> {
        Files.move(disk.file(), base);
        try (var channel = FileChannel.open(base, StandardOpenOption.WRITE)) {
          channel.force(true);
        }
      }
      case QCOW2 -> disks.toRaw(disk.file(), DiskFormat.QCOW2, base);
    }
    var size = Files.size(base);
    if (size == 0) {
      throw new BadImageException("the disk " + disk.name() + " is empty");
    }
    return size;
  }

  /** What cannot be cleared now is cleared by the next pull. */
  private void clearSpool(Exception cause) {
    try {
      Durable.deleteTree(layout.spool());
    } catch (IOException e) {
      cause.addSuppressed(e);
    }
  }

  public List<Image> list() throws IOException {
    var out = new ArrayList<Image>();
    for (var digest : digests()) {
      read(digest).ifPresent(out::add);
    }
    return out;
  }

  /** Empty if somebody removes it just now. */
  private Optional<Image> read(String digest) throws IOException {
    try {
      return Optional.of(
          JSON.readValue(Files.readAllBytes(layout.imageRecord(digest)), Image.class));
    } catch (NoSuchFileException e) {
      return Optional.empty();
    }
  }

  private List<String> digests() throws IOException {
    if (!Files.isDirectory(layout.images())) {
      return List.of();
    }
    try (var directories = Files.list(layout.images())) {
      return directories
          .map(directory -> String.valueOf(directory.getFileName()))
          .filter(name -> name.startsWith("sha256-"))
          .map(name -> name.replace('-', ':'))
          .sorted()
          .toList();
    }
  }

  /**
   * Removes images that no VM's plan names. An image disappears by one rename. A plan is published
   * before its image is looked for: so a start that still saw the image is seen by the second look
   * at the plans, and the image comes back.
   */
  List<Image> collect(Supplier<Set<String>> used) throws IOException {
    try (var _ = lock()) {
      Durable.deleteTree(layout.spool());
      Durable.makeDirectories(layout.spool());
      var gone = new ArrayList<Image>();
      var before = used.get();
      for (var image : list()) {
        if (!before.contains(image.digest()) && removed(image.digest(), used)) {
          gone.add(image);
        }
      }
      Durable.deleteTree(layout.spool());
      return gone;
    }
  }

  private boolean removed(String digest, Supplier<Set<String>> used) throws IOException {
    var away = layout.spool().resolve(layout.image(digest).getFileName());
    Files.move(layout.image(digest), away, StandardCopyOption.ATOMIC_MOVE);
    if (used.get().contains(digest)) {
      Files.move(away, layout.image(digest), StandardCopyOption.ATOMIC_MOVE);
      return false;
    }
    Durable.deleteTree(away);
    return true;
  }

  private FileMutex lock() throws IOException {
    return FileMutex.take(layout.imagesLock(), "the images", PATIENCE);
  }
}
