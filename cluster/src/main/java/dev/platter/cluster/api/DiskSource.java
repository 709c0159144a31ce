package dev.platter.cluster.api;

/** A source whose disk, or archive, a pod writes to a volume. */
public sealed interface DiskSource extends ClaimSource permits DiskImport, DiskUpload {
  /** The format of an archive, which is unpacked into a file system. */
  String ARCHIVE = "tar";

  /** Whether it brings files, and not a disk. */
  boolean archive();
}
