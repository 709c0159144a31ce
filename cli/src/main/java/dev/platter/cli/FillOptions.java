package dev.platter.cli;

import dev.platter.image.fill.Format;
import dev.platter.model.ByteSize;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Option;

/** What is said of the disk that comes and of where it goes, whoever brings it. */
final class FillOptions {
  @Option(
      names = "--format",
      paramLabel = "FORMAT",
      description =
          "raw, qcow2, vmdk, vhd, vhdx, vdi or tar, whatever the file looks like. Say raw for a raw disk"
              + " that a guest has written to: its first bytes are the guest's. With tar the file is an"
              + " archive, packed or not, and its files go to the directory of a volume.")
  @Nullable Format format;

  @Option(
      names = "--size",
      paramLabel = "SIZE",
      description =
          "Of the claim whose volume a directory is; its disk is a twentieth smaller, 64Mi at most"
              + " (default: the disk is as large as what comes).")
  private @Nullable String size;

  @Option(
      names = "--replace",
      description =
          "Write over a disk that Platter has put there before, or over a file, whoever made it. What"
              + " was there is lost.")
  boolean replace;

  /** In bytes; 0 if nobody said. */
  long size() {
    return size == null ? 0 : ByteSize.parse(size).bytes();
  }
}
