package dev.platter.image.fill;

import dev.platter.image.BadImageException;
import dev.platter.image.Printable;

/** The disk or the archive does not fit where it should go. */
public final class TooLarge extends BadImageException {
  private static final long serialVersionUID = 1L;

  private TooLarge(String message) {
    super(message);
  }

  TooLarge(String size, long room) {
    this("the disk has " + size + ", and there is room for " + room + " bytes");
  }

  static TooLarge archive(String entry, long room) {
    return new TooLarge(
        "the archive has more than the %d bytes that there is room for, from '%s' on"
            .formatted(room, Printable.of(entry)));
  }
}
