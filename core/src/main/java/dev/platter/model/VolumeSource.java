package dev.platter.model;

/**
 * A new disk with one ext4 partition, made for this VM and removed with it; its size is the disk's
 * size.
 *
 * @param volume what its file is called, behind the VM's UUID
 */
public record VolumeSource(String volume) implements Source {
  @Override
  public String kind() {
    return "volume";
  }
}
