package dev.platter.image.ext4;

import dev.platter.image.BadImageException;
import dev.platter.image.ByteSource;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Finds the file system of a guest's root in a disk. One that is refused is passed over only if
 * another one has what the root has: files for a root that is unclean must not end up in what is
 * its {@code /boot}.
 */
final class VolumeSearch {
  private static final String IN_EVERY_ROOT = "etc";

  private VolumeSearch() {}

  static Volume find(ByteSource disk, long now) throws IOException {
    List<Span> spans = Partitions.of(disk);
    List<String> others = new ArrayList<>();
    @Nullable Volume first = null;
    @Nullable BadImageException refused = null;
    for (Span span : spans) {
      if (span.start() == 0 && (first != null || refused != null)) {
        continue; // what a disk was before it had partitions
      }
      if (!Superblock.isAt(disk, span.start())) {
        others.add(span.name() + ": " + Signature.at(disk, span.start()));
        continue;
      }
      try {
        Volume volume = Volume.open(disk, span, now);
        if (volume.hasDirectory(IN_EVERY_ROOT)) {
          return volume;
        }
        first = first == null ? volume : first;
      } catch (BadImageException e) {
        var placed = new BadImageException(span.name() + ": " + e.getMessage(), e);
        refused = refused == null ? placed : refused;
      }
    }
    if (refused != null) {
      throw refused;
    }
    if (first == null) {
      throw new BadImageException(
          "the disk has no ext2, ext3 or ext4 file system; it has " + String.join(", ", others));
    }
    if (spans.stream().filter(span -> span.start() > 0).count() > 1) {
      // It may be what is mounted on /boot, where nobody looks for the files.
      throw new BadImageException(
          "none of the disk's ext file systems has a directory /"
              + IN_EVERY_ROOT
              + (others.isEmpty() ? "" : "; there is also " + String.join(", ", others)));
    }
    return first;
  }
}
