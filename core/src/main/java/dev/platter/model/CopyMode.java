package dev.platter.model;

/** How the bytes of a source become the bytes of a disk. */
public enum CopyMode {
  /** The source itself is the disk. */
  NONE("none"),
  /** A local overlay takes the writes; the source is only read. */
  COPY_ON_WRITE("copy-on-write"),
  /** A local overlay takes the writes and every block that was read. */
  COPY_ON_READ("copy-on-read"),
  /** A full local copy; the source is not used after it is made. */
  CLONE("clone");

  private final String word;

  CopyMode(String word) {
    this.word = word;
  }

  public String word() {
    return word;
  }
}
