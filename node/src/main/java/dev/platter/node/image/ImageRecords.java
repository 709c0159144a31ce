package dev.platter.node.image;

import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.platter.node.durable.Durable;
import dev.platter.plan.StateLayout;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.FileTime;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;

/** The records of images on the disk. Anybody may read them at any time; one process writes. */
final class ImageRecords {
  private static final ObjectMapper JSON =
      new ObjectMapper().disable(DeserializationFeature.FAIL_ON_UNKNOWN_PROPERTIES);

  private final StateLayout layout;

  ImageRecords(StateLayout layout) {
    this.layout = layout;
  }

  /**
   * Empty if there is none, or somebody removes it just now. One that was being written when the
   * machine failed is none either.
   */
  Optional<ImageRecord> find(String digest) throws IOException {
    try {
      var bytes = Files.readAllBytes(layout.imageRecord(digest));
      var cutShort = bytes.length == 0 || bytes[bytes.length - 1] != '}';
      return cutShort ? Optional.empty() : Optional.of(JSON.readValue(bytes, ImageRecord.class));
    } catch (NoSuchFileException e) {
      return Optional.empty();
    }
  }

  boolean sealed(String digest) throws IOException {
    var record = find(digest);
    return record.isPresent() && record.get().state() == ImageRecord.State.SEALED;
  }

  /** Notes that somebody wants the image: what nobody has wanted for long is removed first. */
  void touch(String digest) throws IOException {
    try {
      Files.setLastModifiedTime(layout.imageRecord(digest), FileTime.from(Instant.now()));
    } catch (NoSuchFileException e) {
      // It is being removed, and will be missed by whoever wants it.
    }
  }

  /** When somebody last wanted the image. */
  Instant wanted(String digest) {
    return Instant.ofEpochMilli(layout.imageRecord(digest).toFile().lastModified());
  }

  /** The longest unwanted first. */
  List<ImageRecord> oldestFirst() throws IOException {
    var out = new ArrayList<>(list());
    out.sort(Comparator.comparing(image -> wanted(image.digest())));
    return out;
  }

  void publish(Path file, ImageRecord record) throws IOException {
    Durable.publish(file, bytes(record));
  }

  /** As {@link #publish}, but nobody wanted the image for it. */
  void update(Path file, ImageRecord record) throws IOException {
    var wanted = Files.getLastModifiedTime(file);
    publish(file, record);
    Files.setLastModifiedTime(file, wanted);
  }

  /** For everybody to see, and to be published later: it may be gone if the machine fails. */
  void show(Path file, ImageRecord record) throws IOException {
    var temporary = file.resolveSibling(file.getFileName() + ".first");
    Files.write(temporary, bytes(record));
    Files.move(temporary, file, StandardCopyOption.ATOMIC_MOVE);
  }

  private static byte[] bytes(ImageRecord record) throws IOException {
    return JSON.writeValueAsBytes(record);
  }

  List<ImageRecord> list() throws IOException {
    var out = new ArrayList<ImageRecord>();
    for (var digest : digests()) {
      find(digest).ifPresent(out::add);
    }
    return out;
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
}
