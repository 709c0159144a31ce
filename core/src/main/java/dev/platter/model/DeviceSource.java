package dev.platter.model;

/** A block device of this machine, used in place. Only a claim leads to one. */
public record DeviceSource(String path) implements Source {
  @Override
  public String kind() {
    return "device";
  }
}
