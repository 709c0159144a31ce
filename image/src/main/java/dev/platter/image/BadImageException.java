package dev.platter.image;

import java.io.IOException;

/** Bytes that are refused: they break their format, their digest, or a limit of ours. */
public class BadImageException extends IOException {
  public BadImageException(String message) {
    super(message);
  }

  public BadImageException(String message, Throwable cause) {
    super(message, cause);
  }
}
