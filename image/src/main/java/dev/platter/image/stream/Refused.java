package dev.platter.image.stream;

import dev.platter.image.BadImageException;

/** One wording for all refusals: the format, where in the file, then what and why. */
final class Refused {
  private Refused() {}

  static BadImageException at(String format, long position, String why) {
    return new BadImageException("%s refused at byte 0x%x: %s".formatted(format, position, why));
  }

  static void unless(boolean right, String format, long position, String why)
      throws BadImageException {
    if (!right) {
      throw at(format, position, why);
    }
  }
}
