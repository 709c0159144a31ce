package dev.platter.lab;

import java.nio.file.Path;

/** The kernel and initramfs that run container images. */
public final class ContainerGuest {
  private ContainerGuest() {}

  /** The directory that has them. */
  public static Path directory() {
    return Guest.directory("container");
  }
}
