package dev.platter.block.nbd;

import java.io.IOException;
import org.jspecify.annotations.Nullable;

/** The client is gone, or said something after which one cannot go on: the connection ends. */
final class ClientException extends IOException {
  private static final long serialVersionUID = 1;

  ClientException(String message) {
    super(message);
  }

  ClientException(String message, @Nullable IOException cause) {
    super(message, cause);
  }
}
