package dev.platter.image.ext4;

/** Feature bits of the superblock that matter here. */
final class Feature {
  static final int COMPAT_SPARSE_SUPER2 = 0x200;

  static final int INCOMPAT_FILETYPE = 0x2;
  static final int INCOMPAT_RECOVER = 0x4;
  static final int INCOMPAT_META_BG = 0x10;
  static final int INCOMPAT_EXTENTS = 0x40;
  static final int INCOMPAT_64BIT = 0x80;
  private static final int INCOMPAT_MMP = 0x100;
  private static final int INCOMPAT_FLEX_BG = 0x200;
  static final int INCOMPAT_CSUM_SEED = 0x2000;
  private static final int INCOMPAT_LARGEDIR = 0x4000;
  private static final int INCOMPAT_INLINE_DATA = 0x8000;
  private static final int INCOMPAT_ENCRYPT = 0x10000;
  private static final int INCOMPAT_CASEFOLD = 0x20000;

  /** The last three are looked at where a file or directory has them. */
  static final int INCOMPAT_KNOWN =
      INCOMPAT_FILETYPE
          | INCOMPAT_RECOVER
          | INCOMPAT_META_BG
          | INCOMPAT_EXTENTS
          | INCOMPAT_64BIT
          | INCOMPAT_MMP
          | INCOMPAT_FLEX_BG
          | INCOMPAT_CSUM_SEED
          | INCOMPAT_LARGEDIR
          | INCOMPAT_INLINE_DATA
          | INCOMPAT_ENCRYPT
          | INCOMPAT_CASEFOLD;

  static final int RO_SPARSE_SUPER = 0x1;
  private static final int RO_LARGE_FILE = 0x2;
  private static final int RO_BTREE_DIR = 0x4;
  private static final int RO_HUGE_FILE = 0x8;
  static final int RO_GDT_CSUM = 0x10;
  static final int RO_DIR_NLINK = 0x20;
  private static final int RO_EXTRA_ISIZE = 0x40;
  static final int RO_QUOTA = 0x100;
  static final int RO_BIGALLOC = 0x200;
  static final int RO_METADATA_CSUM = 0x400;
  private static final int RO_PROJECT = 0x2000;
  private static final int RO_VERITY = 0x8000;
  static final int RO_ORPHAN_PRESENT = 0x10000;

  static final int RO_KNOWN =
      RO_SPARSE_SUPER
          | RO_LARGE_FILE
          | RO_BTREE_DIR
          | RO_HUGE_FILE
          | RO_GDT_CSUM
          | RO_DIR_NLINK
          | RO_EXTRA_ISIZE
          | RO_METADATA_CSUM
          | RO_PROJECT
          | RO_VERITY;

  private Feature() {}
}
