package dev.platter.registry;

import java.io.IOException;
import org.jspecify.annotations.Nullable;

/** A registry did not give what it was asked for. The message says what to do; no secrets in it. */
public final class RegistryException extends IOException {

  /** Why, for those who have to react rather than read. */
  public enum Kind {
    /** There is no such image. */
    NOT_FOUND,
    /** Credentials are missing, wrong, or not enough. */
    UNAUTHORIZED,
    /** Not reachable or overloaded, also after retries: worth trying again later. */
    UNAVAILABLE,
    /** The answer breaks the protocol or our rules: trying again will not help. */
    PROTOCOL
  }

  private final Kind kind;

  RegistryException(Kind kind, String message) {
    super(message);
    this.kind = kind;
  }

  RegistryException(Kind kind, String message, @Nullable Throwable cause) {
    super(message, cause);
    this.kind = kind;
  }

  public Kind kind() {
    return kind;
  }
}
