package dev.platter.block.nbd;

import java.io.IOException;
import org.jspecify.annotations.Nullable;

/** The other side is gone, or said something after which one cannot go on: the connection ends. */
final class PeerException extends IOException {
  private static final long serialVersionUID = 1;

  PeerException(String message) {
    super(message);
  }

  PeerException(String message, @Nullable IOException cause) {
    super(message, cause);
  }
}
