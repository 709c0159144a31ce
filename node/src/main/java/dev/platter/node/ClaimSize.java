package dev.platter.node;

/** How large a claim with a file system has to be. */
public final class ClaimSize {
  private static final long MIB = 1 << 20;

  private ClaimSize() {}

  /** The smallest in whole mebibytes whose {@code disk.img} has room for a disk of this size. */
  public static long forDisk(long bytes) {
    var disk = Math.addExact(bytes, MIB - 1) / MIB * MIB;
    var claim = disk;
    while (DiskImg.sizeFor(claim) < disk) {
      claim = Math.addExact(claim, disk - DiskImg.sizeFor(claim));
    }
    return claim;
  }
}
