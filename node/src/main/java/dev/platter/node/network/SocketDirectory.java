package dev.platter.node.network;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.IOException;
import java.net.ConnectException;
import java.net.UnixDomainSocketAddress;
import java.nio.channels.SocketChannel;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.time.Instant;

/** A directory of ours alone for one socket. */
record SocketDirectory(Path path) {
  private static final String PREFIX = "netdisk-";
  private static final String SOCKET = "s";

  /** What {@code sun_path} holds, without the zero at its end. */
  private static final int LONGEST_SOCKET = 107;

  /** A socket is there for an instant before it is listened on; one that is older is dead. */
  private static final Duration CERTAINLY_STARTED = Duration.ofMinutes(1);

  /** Nobody waits as long as this for a disk to open. */
  private static final Duration CERTAINLY_GIVEN_UP = Duration.ofHours(1);

  static SocketDirectory make(Path parent) throws IOException {
    Files.createDirectories(parent);
    removeDead(parent);
    var ownerOnly =
        PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------"));
    var made =
        new SocketDirectory(Files.createTempDirectory(parent.toAbsolutePath(), PREFIX, ownerOnly));
    if (made.socket().toString().getBytes(UTF_8).length > LONGEST_SOCKET) {
      made.delete();
      throw new IOException("the path of a socket in " + parent + " would be too long");
    }
    return made;
  }

  Path socket() {
    return path.resolve(SOCKET);
  }

  void delete() throws IOException {
    Files.deleteIfExists(socket());
    Files.deleteIfExists(path);
  }

  private static void removeDead(Path parent) throws IOException {
    try (DirectoryStream<Path> others = Files.newDirectoryStream(parent, PREFIX + "*")) {
      for (Path other : others) {
        var directory = new SocketDirectory(other);
        if (directory.isDead()) {
          directory.delete();
        }
      }
    }
  }

  private boolean isDead() {
    try {
      Duration age = Duration.between(Files.getLastModifiedTime(path).toInstant(), Instant.now());
      if (!Files.exists(socket())) {
        return age.compareTo(CERTAINLY_GIVEN_UP) > 0;
      }
      return age.compareTo(CERTAINLY_STARTED) > 0 && !isServed();
    } catch (IOException e) {
      return false; // removed meanwhile, or not ours to judge
    }
  }

  private boolean isServed() throws IOException {
    try (var _ = SocketChannel.open(UnixDomainSocketAddress.of(socket()))) {
      return true;
    } catch (ConnectException e) {
      return false;
    }
  }
}
