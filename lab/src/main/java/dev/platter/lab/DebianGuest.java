package dev.platter.lab;

import java.nio.file.Path;

/**
 * Debian with systemd, udev and the real cloud-init, which takes a good minute to boot without KVM:
 * for what only they can show. {@code guest/debian/marker} says what it prints. Shared by all
 * tests: make an overlay.
 */
public final class DebianGuest {
  private DebianGuest() {}

  /** A disk that boots by itself and whose last partition is the root, as compressed qcow2. */
  public static Path qcow2() {
    return Guest.file("debian", "debian.qcow2");
  }
}
