package dev.platter.block;

/**
 * A run of bytes of a device.
 *
 * @param length more than 0
 */
public record Extent(long length, Kind kind) {
  /** What is known of a run without reading it. */
  public enum Kind {
    /** Anything, zeros included. */
    DATA,
    /** Not stored; reads as zeros. */
    HOLE
  }

  public Extent {
    if (length <= 0) {
      throw new IllegalArgumentException("an extent of " + length + " bytes");
    }
  }

  public boolean isHole() {
    return kind == Kind.HOLE;
  }
}
