package dev.platter.image.fill;

import dev.platter.image.BadImageException;

/** The disk does not fit where it should go. */
public final class TooLarge extends BadImageException {
  private static final long serialVersionUID = 1L;

  TooLarge(String size, long room) {
    super("the disk has " + size + ", and there is room for " + room + " bytes");
  }
}
