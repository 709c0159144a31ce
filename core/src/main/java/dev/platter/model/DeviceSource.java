package dev.platter.model;

/**
 * A block device of this machine, used in place.
 *
 * @param listed whether it must be one of the devices that the machine's owner gives to VMs. The
 *     device of a claim need not be: an administrator wrote its volume.
 */
public record DeviceSource(String path, boolean listed) implements Source {
  @Override
  public String kind() {
    return "device";
  }
}
