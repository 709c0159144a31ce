package dev.platter.image.gzip;

import dev.platter.image.BadImageException;

/** One wording for all refusals: where in the file, then what and why. */
final class Refused {
  private Refused() {}

  static BadImageException at(long position, String why) {
    return new BadImageException("gzip refused at byte %d: %s".formatted(position, why));
  }

  static BadImageException index(String why) {
    return new BadImageException("gzip index refused: " + why);
  }
}
