package dev.platter.node.fill;

import dev.platter.image.BadImageException;
import dev.platter.image.fill.TooLarge;
import dev.platter.image.raw.NativeFile;
import dev.platter.model.PlatterException;
import dev.platter.model.PlatterException.Code;
import dev.platter.node.durable.Cancellation;
import dev.platter.registry.RegistryException;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.io.InterruptedIOException;
import java.nio.channels.ClosedByInterruptException;

/** Says in the user's words why a disk was not brought. */
final class FillErrors {
  private FillErrors() {}

  static PlatterException explain(String source, String target, IOException e) {
    if (Thread.currentThread().isInterrupted()) {
      return Cancellation.cancelled();
    }
    return switch (e) {
      case ClosedByInterruptException _, InterruptedIOException _ -> Cancellation.cancelled();
      case TooLarge _ ->
          PlatterException.of(
              Code.INVALID,
              source + " does not fit on " + target + ": " + e.getMessage(),
              "Make it larger, or name another.",
              e);
      case BadImageException _ ->
          PlatterException.of(
              Code.REFUSED,
              source + " is refused: " + e.getMessage(),
              "Bring another file, or say --format if it is not what it looks like. What was written of"
                  + " it is not used.",
              e);
      case RegistryException registry ->
          PlatterException.of(code(registry), source + ": " + e.getMessage(), next(registry), e);
      case FileNotFoundException _ ->
          PlatterException.of(
              Code.NOT_FOUND, source + ": " + e.getMessage(), "Check what it is called.", e);
      case IOException full when NativeFile.isNoSpace(full) ->
          PlatterException.of(
              Code.UNAVAILABLE,
              "the file system of " + target + " is full; " + source + " does not fit",
              "Make room, and try again.",
              e);
      default ->
          PlatterException.of(
              Code.UNAVAILABLE, source + " to " + target + ": " + e.getMessage(), "Try again.", e);
    };
  }

  private static String next(RegistryException e) {
    return switch (e.kind()) {
      case NOT_FOUND -> "Check what it is called.";
      case UNAUTHORIZED ->
          "Log in if it is a registry ('docker login', 'podman login'). For a web server set"
              + " $PLATTER_WEB_USER and $PLATTER_WEB_PASSWORD; a DiskImport names a Secret.";
      case UNAVAILABLE, PROTOCOL -> "Try again.";
    };
  }

  private static Code code(RegistryException e) {
    return switch (e.kind()) {
      case NOT_FOUND -> Code.NOT_FOUND;
      case UNAUTHORIZED, UNAVAILABLE -> Code.UNAVAILABLE;
      case PROTOCOL -> Code.REFUSED;
    };
  }
}
