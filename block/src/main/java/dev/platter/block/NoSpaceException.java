package dev.platter.block;

import java.io.IOException;

/** There is no room for what was to be written; the writer may wait for room and try again. */
public final class NoSpaceException extends IOException {
  private static final long serialVersionUID = 1;

  public NoSpaceException(IOException cause) {
    super(cause.getMessage(), cause);
  }
}
