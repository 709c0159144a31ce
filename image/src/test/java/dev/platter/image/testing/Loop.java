package dev.platter.image.testing;

import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.platter.image.ForeignTool;
import java.io.Closeable;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.jspecify.annotations.Nullable;

/** A block device made of a file, with a file system mounted if wanted; gone when closed. */
public final class Loop implements Closeable {
  private final Path directory;
  private final Path device;
  private @Nullable Path mounted;

  /** Where this machine cannot have one, the test says why and is left out. */
  public Loop(Path directory, String size, String... options) throws IOException {
    assumeTrue(
        Files.isWritable(Path.of("/dev/loop-control")), "no loop devices: not root, or no driver");
    this.directory = directory;
    ForeignTool.run(directory, "truncate", "-s", size, "loop.img");
    String command = "losetup " + String.join(" ", options) + " --find --show loop.img";
    this.device = Path.of(ForeignTool.sh(directory, command).strip());
  }

  public Path device() {
    return device;
  }

  public Path mountXfs() throws IOException {
    assumeTrue(
        Files.readString(Path.of("/proc/filesystems")).contains("\txfs\n"),
        "this kernel has no XFS");
    Path at = Files.createDirectory(directory.resolve("xfs"));
    ForeignTool.run(directory, "mkfs.xfs", "-q", device.toString());
    ForeignTool.run(directory, "mount", device.toString(), at.toString());
    mounted = at;
    return at;
  }

  @Override
  public void close() throws IOException {
    if (mounted != null) {
      ForeignTool.run(directory, "umount", mounted.toString());
    }
    ForeignTool.run(directory, "losetup", "--detach", device.toString());
  }
}
