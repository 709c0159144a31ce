package dev.platter.block.scsi;

/** How much one command may do, in blocks; initiators are told. */
final class Limits {
  static final int BLOCK = 512;

  static final int TRANSFER = 32 << 11; // 32 MiB
  static final int GOOD_TRANSFER = 1 << 11;
  static final int COMPARE_AND_WRITE = 32;
  static final int UNMAP = 1 << 20; // 512 MiB
  static final int UNMAP_RANGES = 256;
  static final int WRITE_SAME = 1 << 21;

  private Limits() {}
}
