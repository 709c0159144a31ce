package dev.platter.image.stream;

import java.io.IOException;

/** A disk whose file passes by. It is looked at in two steps, so that its size is known first. */
public interface StreamedFormat {
  /** The size of the disk. */
  long virtualSize();

  /** Writes what is not zero. */
  void copyTo(Canvas canvas) throws IOException;
}
