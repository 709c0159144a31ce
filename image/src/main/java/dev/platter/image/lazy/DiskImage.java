package dev.platter.image.lazy;

import dev.platter.image.DiskSink;
import dev.platter.image.oci.BlobSource;
import dev.platter.image.oci.ExtractedDisk;
import dev.platter.image.oci.Manifest;
import dev.platter.image.oci.Progress;
import java.io.IOException;
import java.nio.file.Path;

/**
 * Gets the one disk file out of an image into a file, reading as few layers as {@link DiskLocator}
 * needs and without ever holding more than some buffers of it.
 */
public final class DiskImage {
  private DiskImage() {}

  /**
   * Gives the disk file to a sink, which may be told that another begins: then what it was given
   * before is not the disk. Only when this returns are the bytes known to be right.
   */
  public static void stream(BlobSource source, Manifest manifest, DiskSink sink, Progress progress)
      throws IOException {
    DiskLocator.streaming(source, manifest, DiskLocator.MAX_BYTES).stream(sink, _ -> {}, progress);
  }

  public static ExtractedDisk extract(
      BlobSource source, Manifest manifest, Path spoolDirectory, Progress progress)
      throws IOException {
    return extract(source, manifest, spoolDirectory, progress, DiskLocator.MAX_BYTES);
  }

  /**
   * Leaves exactly one new file in {@code spoolDirectory}, the disk, or throws and leaves none.
   *
   * @param maxBytes the most that a layer may unpack to
   */
  public static ExtractedDisk extract(
      BlobSource source, Manifest manifest, Path spoolDirectory, Progress progress, long maxBytes)
      throws IOException {
    try (Spool spool = Spool.in(spoolDirectory)) {
      DiskLocator.streaming(source, manifest, maxBytes).stream(spool, _ -> {}, progress);
      return spool.keep();
    }
  }
}
