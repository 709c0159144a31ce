package dev.platter.node.durable;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Set;

/**
 * Changes that are on the disk when the call returns. What is published appears by rename, so that
 * a reader sees the old content or the new one, whenever the writer is killed.
 */
public final class Durable {
  private Durable() {}

  public static void publish(Path path, String text) throws IOException {
    publish(path, text.getBytes(StandardCharsets.UTF_8));
  }

  /** The file is for its owner alone. */
  public static void publish(Path path, byte[] content) throws IOException {
    var temporary = path.resolveSibling(path.getFileName() + ".new");
    Files.deleteIfExists(temporary);
    write(temporary, content);
    Files.move(temporary, path, StandardCopyOption.ATOMIC_MOVE);
    syncDirectory(parent(path));
  }

  /** Writes a new file that counts for nothing until something that is published later says so. */
  public static void write(Path path, byte[] content) throws IOException {
    var options = Set.of(StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE);
    var mode = PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rw-------"));
    try (var channel = FileChannel.open(path, options, mode)) {
      var buffer = ByteBuffer.wrap(content);
      while (buffer.hasRemaining()) {
        channel.write(buffer);
      }
      channel.force(true);
    }
  }

  public static void syncDirectory(Path directory) throws IOException {
    try (var channel = FileChannel.open(directory, StandardOpenOption.READ)) {
      channel.force(true);
    }
  }

  /** Creates a directory for its owner alone, with its parents. */
  public static void makeDirectories(Path directory) throws IOException {
    if (Files.isDirectory(directory)) {
      return;
    }
    Files.createDirectories(
        directory,
        PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------")));
  }

  /** Creates one directory for its owner alone; fails if the name exists. */
  public static void makeDirectory(Path directory) throws IOException {
    Files.createDirectory(
        directory,
        PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------")));
    syncDirectory(parent(directory));
  }

  public static void delete(Path path) throws IOException {
    if (Files.deleteIfExists(path)) {
      syncDirectory(parent(path));
    }
  }

  /** Deletes a directory of ours and what is in it; links in it are deleted, not followed. */
  public static void deleteTree(Path directory) throws IOException {
    if (!Files.isDirectory(directory, LinkOption.NOFOLLOW_LINKS)) {
      Files.deleteIfExists(directory);
      return;
    }
    try (var entries = Files.list(directory)) {
      for (var entry : entries.toList()) {
        deleteTree(entry);
      }
    }
    delete(directory);
  }

  public static Path parent(Path path) {
    var parent = path.toAbsolutePath().getParent();
    if (parent == null) {
      throw new IllegalArgumentException(path + " has no parent");
    }
    return parent;
  }
}
