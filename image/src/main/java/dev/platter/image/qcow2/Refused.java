package dev.platter.image.qcow2;

import dev.platter.image.BadImageException;

/** One wording for all refusals: where in the file, then what and why. */
final class Refused {
  private Refused() {}

  static BadImageException at(long position, String why) {
    return new BadImageException("qcow2 refused at byte 0x%x: %s".formatted(position, why));
  }
}
