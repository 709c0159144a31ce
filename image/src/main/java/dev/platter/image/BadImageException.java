package dev.platter.image;

import java.io.IOException;
import org.jspecify.annotations.Nullable;

/**
 * Bytes that are refused: hostile, corrupt or of a kind that is not supported. The message says
 * what was found, where and why it is refused; retrying with the same bytes is pointless.
 */
public class BadImageException extends IOException {
  public BadImageException(String message) {
    super(message);
  }

  public BadImageException(String message, @Nullable Throwable cause) {
    super(message, cause);
  }
}
