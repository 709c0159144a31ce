package dev.platter.block.wire;

import java.io.IOException;
import org.jspecify.annotations.Nullable;

/** The other side is gone, or said something after which one cannot go on: the connection ends. */
public final class PeerException extends IOException {
  private static final long serialVersionUID = 1;

  public PeerException(String message) {
    super(message);
  }

  public PeerException(String message, @Nullable IOException cause) {
    super(message, cause);
  }
}
