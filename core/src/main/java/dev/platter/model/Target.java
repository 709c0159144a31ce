package dev.platter.model;

/**
 * Where the guest sees a disk: the bus and the position on it, 0 being {@code sda} or {@code vda}.
 */
public record Target(Bus bus, int position) {
  public Target {
    if (position < 0 || position > 25) {
      throw new IllegalArgumentException("no device letter for position " + position);
    }
  }

  public String device() {
    return bus.prefix() + (char) ('a' + position);
  }
}
