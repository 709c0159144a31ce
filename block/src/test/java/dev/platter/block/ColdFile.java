package dev.platter.block;

import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.platter.lab.Shell;
import java.nio.file.Path;
import java.util.List;

/** Files of which nothing is in memory. */
public final class ColdFile {
  private ColdFile() {}

  /** Writes a file to the disk first: what is not there yet stays in memory. */
  public static void drop(Path file) {
    Shell.run("dd", "of=" + file, "oflag=nocache", "conv=notrunc,fdatasync", "count=0");
  }

  /** As {@link #drop}, where the file system can tell that it is so. */
  static void dropWhereTold(Path file) {
    String type = Shell.run("stat", "-f", "-c", "%T", file).trim();
    assumeTrue(List.of("ext2/ext3", "xfs", "btrfs").contains(type), type + " cannot tell");
    drop(file);
  }
}
