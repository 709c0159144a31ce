package dev.platter.model;

import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The one way in which Platter says that something cannot be done.
 *
 * <p>The message says what was tried and why it failed; {@link #next()} says what the user can do.
 * The {@link Code} is mapped once for each way out (exit status, HTTP status, event reason), never
 * by looking at the text.
 */
public final class PlatterException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  /** What kind of failure this is, with the exit status of the command line. */
  public enum Code {
    /** A bug or an unexpected failure of the machine. */
    INTERNAL(1),
    /** What the user wrote is not valid. */
    INVALID(3),
    /** The thing asked for does not exist. */
    NOT_FOUND(4),
    /** Somebody else holds it, or it exists already. */
    CONFLICT(5),
    /** This machine lacks something; it can be installed or configured. */
    UNAVAILABLE(6),
    /** The bytes of an image or the answer of a server were refused. */
    REFUSED(7),
    /** Valid, but this version of Platter does not do it. */
    UNSUPPORTED(8),
    /** It took longer than it may, and was given up. */
    TIMED_OUT(9);

    private final int exitStatus;

    Code(int exitStatus) {
      this.exitStatus = exitStatus;
    }

    public int exitStatus() {
      return exitStatus;
    }
  }

  private final Code code;
  private final String next;
  private final List<String> details;

  private PlatterException(
      Code code, String message, String next, List<String> details, @Nullable Throwable cause) {
    super(message, cause);
    this.code = code;
    this.next = next;
    this.details = List.copyOf(details);
  }

  public static PlatterException of(Code code, String message, String next) {
    return new PlatterException(code, message, next, List.of(), null);
  }

  public static PlatterException of(Code code, String message, String next, Throwable cause) {
    return new PlatterException(code, message, next, List.of(), cause);
  }

  /** Several problems found at once, one line each. */
  public static PlatterException all(Code code, String message, String next, List<String> details) {
    return new PlatterException(code, message, next, details, null);
  }

  /** The same failure with more to say about it. */
  public PlatterException with(List<String> more) {
    var all = new ArrayList<>(details);
    all.addAll(more);
    return new PlatterException(code, String.valueOf(getMessage()), next, all, this);
  }

  public Code code() {
    return code;
  }

  /** What to do about it; empty if there is nothing sensible to say. */
  public String next() {
    return next;
  }

  public List<String> details() {
    return details;
  }
}
