package dev.platter.node;

import dev.platter.image.BadImageException;
import dev.platter.image.ByteSource;
import dev.platter.image.ext4.Ext4Files;
import dev.platter.image.ext4.NewFile;
import dev.platter.image.qcow2.Qcow2Overlay;
import dev.platter.model.GuestFile;
import dev.platter.model.PlatterException;
import dev.platter.model.PlatterException.Code;
import dev.platter.node.image.Images;
import dev.platter.node.network.NbdDisk;
import dev.platter.plan.Plan;
import dev.platter.plan.PlannedDisk.Link;
import dev.platter.plan.StateLayout;
import java.io.IOException;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Writes overlays that have files in the file system below them, which itself stays as it is. A
 * base that is not complete is read through the daemon, so that only the blocks are fetched that
 * the file system is changed in.
 */
final class RootFilesystems {
  private final StateLayout layout;
  private final Images images;

  RootFilesystems(StateLayout layout, Images images) {
    this.layout = layout;
    this.images = images;
  }

  Overlays.Writer writer(
      Plan plan, Link below, List<GuestFile> files, Qcow2Overlay.Backing name, long size) {
    return path -> {
      if (files.isEmpty()) {
        throw new IllegalStateException("the files for " + path + " are not known any more");
      }
      var digest = digest(plan, below);
      if (digest == null || images.sealed(digest)) {
        try (var channel = FileChannel.open(Path.of(below.toString()), StandardOpenOption.READ)) {
          write(ByteSource.of(channel), files, path, name, size);
        }
        return;
      }
      var served = NbdDisk.open(UnixDomainSocketAddress.of(layout.nbdSocket()), digest);
      try (var client = served.connect()) {
        write(new ServedBytes(served.size(), client::read), files, path, name, size);
      }
    };
  }

  private interface Reader {
    void read(long position, ByteBuffer into) throws IOException;
  }

  private record ServedBytes(long size, Reader reader) implements ByteSource {
    @Override
    public int read(ByteBuffer into, long position) throws IOException {
      var length = (int) Math.min(into.remaining(), size - position);
      if (length <= 0) {
        return -1;
      }
      reader.read(position, into.slice(into.position(), length));
      into.position(into.position() + length);
      return length;
    }
  }

  private static void write(
      ByteSource disk, List<GuestFile> files, Path path, Qcow2Overlay.Backing name, long size)
      throws IOException {
    var now = Instant.now().truncatedTo(ChronoUnit.SECONDS);
    try {
      var patch = Ext4Files.write(disk, files.stream().map(RootFilesystems::file).toList(), now);
      Qcow2Overlay.create(path, name, size, patch.over(disk));
    } catch (BadImageException e) {
      throw PlatterException.of(
          Code.REFUSED,
          "files cannot be written into the root disk: " + e.getMessage(),
          "Use an image with an ext4 root file system, or give the files by cloud-init.",
          e);
    }
  }

  private static NewFile file(GuestFile file) {
    return new NewFile(file.path(), file.mode(), 0, 0, file.content().bytes());
  }

  /** Of the image that the base belongs to. */
  private @Nullable String digest(Plan plan, Link below) {
    return plan.images().values().stream()
        .filter(digest -> layout.base(digest).toString().equals(below.file()))
        .findFirst()
        .orElse(null);
  }
}
