package dev.platter.lab;

import java.nio.file.Path;

/**
 * The small guest that tells on its console what it sees ({@code guest/marker/init} says how),
 * ready in a few seconds without KVM. The files are shared by all tests: make an overlay or a copy
 * before anything writes.
 */
public final class MarkerGuest {
  private static final String NAME = "marker";

  private MarkerGuest() {}

  /** A 64 MiB disk that boots by itself. */
  public static Path raw() {
    return Guest.file(NAME, "marker.raw");
  }

  /** The same disk as compressed qcow2. */
  public static Path qcow2() {
    return Guest.file(NAME, "marker.qcow2");
  }

  public static Path kernel() {
    return Guest.file(NAME, "vmlinuz");
  }

  public static Path initrd() {
    return Guest.file(NAME, "initrd.gz");
  }
}
