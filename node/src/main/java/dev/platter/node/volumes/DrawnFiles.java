package dev.platter.node.volumes;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.HashSet;
import java.util.Optional;
import java.util.Set;
import java.util.regex.Pattern;

/**
 * What a driver of volumes and the daemon that runs VMs have in common: a directory with the socket
 * by which volumes are used whose bytes have not all come, and a note for each of them, which has
 * the digest of its image. While there is a note, a VM has to use the socket, and the daemon to
 * keep the image.
 *
 * @param directory only root can look into it
 */
public record DrawnFiles(Path directory) {
  /** As {@link VolumeStore} calls files of volumes, and the kernel those of loop devices. */
  private static final Pattern FILE = Pattern.compile("(?<id>vol-[0-9a-f]{32})\\.raw");

  /** Of an NBD server, whose exports are the ids of volumes. */
  public Path socket() {
    return directory.resolve("nbd.sock");
  }

  Path notes() {
    return directory.resolve("drawn");
  }

  Path note(String id) {
    return notes().resolve(id);
  }

  /** The digests of images that volumes need. */
  public Set<String> digests() throws IOException {
    var out = new HashSet<String>();
    if (Files.isDirectory(notes())) {
      try (var all = Files.list(notes())) {
        for (var note : all.toList()) {
          digest(note).ifPresent(out::add);
        }
      }
    }
    return out;
  }

  private static Optional<String> digest(Path note) throws IOException {
    try {
      return Optional.of(Files.readString(note, StandardCharsets.UTF_8).strip());
    } catch (NoSuchFileException e) {
      return Optional.empty();
    }
  }

  /**
   * The volume that a block device is, if it has to be used by the socket. The kernel knows the
   * file of the device, under whatever name it has been opened.
   */
  public Optional<String> volume(Path device) throws IOException {
    if (!Files.isDirectory(notes(), LinkOption.NOFOLLOW_LINKS)) {
      return Optional.empty();
    }
    var number = (long) (Long) Files.getAttribute(device, "unix:rdev");
    // As in gnu_dev_major and gnu_dev_minor.
    var major = (number >>> 8 & 0xfff) | (number >>> 32 & ~0xfffL);
    var minor = (number & 0xff) | (number >>> 12 & ~0xffL);
    var backing = Path.of("/sys/dev/block", major + ":" + minor, "loop", "backing_file");
    if (!Files.exists(backing)) {
      return Optional.empty();
    }
    var file = Path.of(Files.readString(backing).strip());
    var match = FILE.matcher(String.valueOf(file.getFileName()));
    return match.matches() && Files.exists(note(match.group("id")))
        ? Optional.of(match.group("id"))
        : Optional.empty();
  }
}
