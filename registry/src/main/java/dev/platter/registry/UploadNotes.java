package dev.platter.registry;

import dev.platter.image.Digest;
import java.io.IOException;
import java.io.InputStream;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.time.Instant;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * Where uploads are to go on that were begun and not ended, so that another process can go on with
 * them, after {@code kill -9} too. A note is one file with the URL that the registry gave for the
 * rest of a blob. Such a URL may be all that is needed to write there, so only this user can read
 * it.
 *
 * <p>Notes only save time: one that cannot be read or written is as good as none. Who takes a note
 * removes it, so that two processes do not write to one upload.
 */
public final class UploadNotes {
  private static final int MAX_BYTES = 16 << 10;

  /** No registry keeps an upload longer. */
  private static final Duration LIFETIME = Duration.ofDays(7);

  private final @Nullable Path directory;

  private UploadNotes(@Nullable Path directory) {
    this.directory = directory;
  }

  /** Remembers nothing. */
  public static UploadNotes none() {
    return new UploadNotes(null);
  }

  /** In a directory that is made when it is needed. */
  public static UploadNotes in(Path directory) {
    return new UploadNotes(directory);
  }

  boolean areKept() {
    return directory != null;
  }

  Optional<String> take(URI repository, Digest blob) {
    if (directory == null) {
      return Optional.empty();
    }
    Path file = file(directory, repository, blob);
    try (InputStream in = Files.newInputStream(file)) {
      String upload = new String(in.readNBytes(MAX_BYTES), StandardCharsets.UTF_8);
      // Whoever deletes it has it.
      Files.delete(file);
      return Optional.of(upload);
    } catch (IOException e) {
      return Optional.empty();
    }
  }

  void put(URI repository, Digest blob, URI upload) {
    if (directory == null) {
      return;
    }
    try {
      Files.createDirectories(
          directory,
          PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------")));
      removeOld(directory);
      Path temporary = Files.createTempFile(directory, ".note-", ".tmp"); // rw-------
      Files.writeString(temporary, upload.toString());
      Files.move(temporary, file(directory, repository, blob), StandardCopyOption.ATOMIC_MOVE);
    } catch (IOException e) {
      // Then the upload cannot be continued by others.
    }
  }

  void remove(URI repository, Digest blob) {
    if (directory != null) {
      try {
        Files.deleteIfExists(file(directory, repository, blob));
      } catch (IOException e) {
        // Then a later upload finds out that this one is over.
      }
    }
  }

  private static Path file(Path directory, URI repository, Digest blob) {
    String name = repository + "@" + blob;
    return directory.resolve(Digest.of(name.getBytes(StandardCharsets.UTF_8)).hex());
  }

  private static void removeOld(Path directory) throws IOException {
    Instant oldest = Instant.now().minus(LIFETIME);
    try (DirectoryStream<Path> notes = Files.newDirectoryStream(directory)) {
      for (Path note : notes) {
        if (Files.getLastModifiedTime(note).toInstant().isBefore(oldest)) {
          Files.deleteIfExists(note);
        }
      }
    }
  }
}
