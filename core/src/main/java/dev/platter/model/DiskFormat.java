package dev.platter.model;

/** How the bytes of a disk lie in a file. */
public enum DiskFormat {
  RAW("raw"),
  QCOW2("qcow2");

  private final String word;

  DiskFormat(String word) {
    this.word = word;
  }

  public String word() {
    return word;
  }

  public static DiskFormat byName(String path) {
    return path.endsWith(".qcow2") ? QCOW2 : RAW;
  }
}
