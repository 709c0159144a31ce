package dev.platter.image.qcow2;

/**
 * What a reader puts up with. Together with the fixed limits that QEMU has too (an L1 table of 32
 * MiB, a refcount table of 8 MiB, clusters of 2 MiB) they bound its memory: L1 entries that are
 * needed (at most 32 MiB), 2 bits for each cluster of the file (allocated where the file is
 * referenced; at most 128 MiB by default, 8 MiB for a file of 2 TiB with 64 KiB clusters), and
 * about 8 MiB of buffers a thread.
 *
 * @param maxVirtualSize the largest disk in bytes
 * @param maxFileClusters the largest file, counted in its clusters
 */
public record Limits(long maxVirtualSize, long maxFileClusters) {
  /** Disks of 64 TiB; files of 2^29 clusters, which is 32 TiB with 64 KiB clusters. */
  public static final Limits DEFAULT = new Limits(64L << 40, 1L << 29);

  public Limits {
    if (maxVirtualSize < 0 || maxFileClusters < 0 || maxFileClusters > 1L << 40) {
      throw new IllegalArgumentException("limits out of range");
    }
  }
}
