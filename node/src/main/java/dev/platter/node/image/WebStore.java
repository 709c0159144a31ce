package dev.platter.node.image;

import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.platter.image.Digest;
import dev.platter.image.oci.BareDisk;
import dev.platter.image.raw.SparseFile;
import dev.platter.node.durable.Durable;
import dev.platter.node.durable.FileMutex;
import dev.platter.plan.StateLayout;
import dev.platter.registry.WebFiles;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Optional;
import java.util.function.Predicate;

/**
 * What is here of files from the web. A whole one is kept by its digest until the image that it is
 * has been sealed; one that was cut short waits to be gone on with. What a URL gave last is noted,
 * so that it is not fetched again.
 *
 * <p>Who fetches holds the lock of the URL. Whoever cleans up leaves alone what is locked, and what
 * is so young that somebody may be about to use it.
 */
final class WebStore {
  private static final ObjectMapper JSON =
      new ObjectMapper().disable(DeserializationFeature.FAIL_ON_UNKNOWN_PROPERTIES);

  /**
   * From fetching a file to naming its image in a plan it takes no longer, even if the VM's other
   * images have to come as slowly as they may.
   */
  private static final Duration YOUNG = WebDownload.Bounds.USUAL.time().multipliedBy(2);

  private static final Duration RESUMABLE = Duration.ofDays(1);

  private final StateLayout layout;
  private final ImageRecords records;

  WebStore(StateLayout layout) {
    this.layout = layout;
    this.records = new ImageRecords(layout);
  }

  /**
   * What a URL gave last.
   *
   * @param tag see {@link WebFiles.Version}
   */
  record Note(String url, String tag, String modified, String sha256, long size) {
    WebFiles.Version version() {
      return new WebFiles.Version(tag, modified);
    }

    BareDisk disk() {
      return BareDisk.of(Digest.ofHex(sha256), size);
    }
  }

  /** Of a download: its first {@code done} bytes are on the disk. */
  record Part(String tag, String modified, long size, long done) {
    WebFiles.Version version() {
      return new WebFiles.Version(tag, modified);
    }
  }

  static String key(String url) {
    return Digest.of(url.getBytes(StandardCharsets.UTF_8)).hex().substring(0, 32);
  }

  Optional<Note> note(String url) throws IOException {
    return read(layout.webNote(key(url)), Note.class).filter(note -> note.url().equals(url));
  }

  Optional<Part> part(String url) throws IOException {
    return read(layout.webPartNote(key(url)), Part.class);
  }

  private static <T> Optional<T> read(Path file, Class<T> type) throws IOException {
    try {
      return Optional.of(JSON.readValue(Files.readAllBytes(file), type));
    } catch (NoSuchFileException e) {
      return Optional.empty();
    }
  }

  void keep(String url, Part part) throws IOException {
    Durable.publish(layout.webPartNote(key(url)), JSON.writeValueAsBytes(part));
  }

  void keep(Note note) throws IOException {
    Durable.publish(layout.webNote(key(note.url())), JSON.writeValueAsBytes(note));
  }

  void forgetPart(String url) throws IOException {
    Durable.delete(layout.webPartNote(key(url)));
    Durable.delete(layout.webPart(key(url)));
  }

  /** Whether there is anything that may have to be cleaned up. */
  boolean isEmpty() throws IOException {
    return list().isEmpty();
  }

  /** What is here takes so much of the disk. */
  long bytes() throws IOException {
    long bytes = 0;
    for (var file : list()) {
      try {
        bytes += SparseFile.allocated(file);
      } catch (NoSuchFileException e) {
        // Its image has been sealed.
      }
    }
    return bytes;
  }

  /** Whether the image need not be fetched. */
  boolean isHere(BareDisk disk) throws IOException {
    if (Files.exists(file(disk))) {
      return true;
    }
    var record = records.find(imageOf(disk));
    return record.isPresent() && record.get().state() != ImageRecord.State.QUARANTINED;
  }

  /** Somebody is about to use it. */
  void touch(BareDisk disk) throws IOException {
    try {
      Files.setLastModifiedTime(file(disk), FileTime.from(Instant.now()));
    } catch (NoSuchFileException e) {
      // Its image is sealed.
    }
  }

  private Path file(BareDisk disk) {
    return layout.webFile(disk.disk().digest().toString());
  }

  static String imageOf(BareDisk disk) {
    return Digest.of(disk.manifest()).toString();
  }

  /** The file that is the image with this digest, if it is here. */
  Optional<BareDisk> find(String image) throws IOException {
    for (var file : list()) {
      var disk = diskIn(file);
      if (disk.isPresent() && imageOf(disk.get()).equals(image)) {
        return disk;
      }
    }
    return Optional.empty();
  }

  private List<Path> list() throws IOException {
    if (!Files.isDirectory(layout.web())) {
      return List.of();
    }
    try (var files = Files.list(layout.web())) {
      return files.sorted().toList();
    }
  }

  private static Optional<BareDisk> diskIn(Path file) throws IOException {
    var name = String.valueOf(file.getFileName());
    return name.matches("sha256-[0-9a-f]{64}")
        ? Optional.of(BareDisk.of(Digest.ofHex(name.substring(7)), Files.size(file)))
        : Optional.empty();
  }

  /**
   * Removes what nobody will use.
   *
   * @param used whether VMs name an image
   * @param parts also downloads that could be gone on with
   */
  void clean(Predicate<String> used, boolean parts) throws IOException {
    for (var file : list()) {
      var disk = diskIn(file);
      if (disk.isPresent() && !isWanted(imageOf(disk.get()), used, file)) {
        Durable.delete(file);
      }
    }
    for (var file : list()) {
      var name = String.valueOf(file.getFileName());
      if (name.matches("[0-9a-f]{32}\\..*")) {
        cleanUrl(file, name.substring(0, 32), parts);
      }
    }
  }

  private boolean isWanted(String image, Predicate<String> used, Path file) throws IOException {
    var record = records.find(image);
    return record.isPresent()
        ? record.get().state() == ImageRecord.State.LAZY
        : age(file).compareTo(YOUNG) < 0 || used.test(image);
  }

  private static Duration age(Path file) throws IOException {
    return Duration.between(Files.getLastModifiedTime(file).toInstant(), Instant.now());
  }

  private void cleanUrl(Path file, String key, boolean parts) throws IOException {
    try (var lock = FileMutex.tryTake(layout.webLock(key)).orElse(null)) {
      if (lock == null || !Files.exists(file)) {
        return;
      }
      var stale =
          file.equals(layout.webNote(key))
              ? !isHere(read(file, Note.class).orElseThrow().disk())
              : parts || age(file).compareTo(RESUMABLE) > 0;
      if (stale) {
        Durable.delete(file);
      }
    }
  }
}
