package dev.platter.node.web;

import dev.platter.model.PlatterException;
import java.io.IOException;
import org.jspecify.annotations.Nullable;

/** The server answered, and waiting does not help: somebody has to correct something. */
public final class WebRefusal extends IOException {
  private static final long serialVersionUID = 1L;

  WebRefusal(String message, @Nullable Throwable cause) {
    super(message, cause);
  }

  WebRefusal(String message) {
    super(message);
  }

  public PlatterException told() {
    return PlatterException.of(
        PlatterException.Code.REFUSED,
        String.valueOf(getMessage()),
        "Correct the URL, the CA or the headers' secrets, or the file on its server.",
        this);
  }
}
