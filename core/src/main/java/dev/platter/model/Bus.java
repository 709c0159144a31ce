package dev.platter.model;

/** How the guest reaches its disks. The limits count the boot disk and the cloud-init disk. */
public enum Bus {
  SCSI("scsi", "sd", 26),
  VIRTIO("virtio", "vd", 20);

  private final String word;
  private final String prefix;
  private final int limit;

  Bus(String word, String prefix, int limit) {
    this.word = word;
    this.prefix = prefix;
    this.limit = limit;
  }

  public String word() {
    return word;
  }

  /** What device names on this bus start with. */
  public String prefix() {
    return prefix;
  }

  public int limit() {
    return limit;
  }
}
