package dev.platter.cli;

import dev.platter.image.BadImageException;
import dev.platter.model.PlatterException;
import dev.platter.model.PlatterException.Code;
import dev.platter.registry.RegistryException;
import java.io.IOException;
import java.io.InterruptedIOException;
import java.nio.channels.ClosedByInterruptException;
import java.nio.file.FileSystemException;
import java.nio.file.Path;

/** Says in the user's words why a push failed. */
final class PushErrors {
  private PushErrors() {}

  static PlatterException explain(Path disk, String reference, IOException e) {
    if (Thread.currentThread().isInterrupted()) {
      return cancelled(e);
    }
    return switch (e) {
      case ClosedByInterruptException _, InterruptedIOException _ -> cancelled(e);
      case BadImageException _ ->
          PlatterException.of(
              Code.REFUSED,
              disk + " is refused: " + e.getMessage(),
              "A disk to push is a raw file, or a qcow2 without a backing file or encryption.",
              e);
      case RegistryException registry ->
          PlatterException.of(
              code(registry),
              "push to " + reference + ": " + e.getMessage(),
              registry.kind() == RegistryException.Kind.UNAVAILABLE ? AGAIN : "",
              e);
      case FileSystemException file ->
          PlatterException.of(
              Code.UNAVAILABLE,
              "push to " + reference + ": " + file.getFile() + ": " + file.getReason(),
              ROOM,
              e);
      default ->
          PlatterException.of(
              Code.UNAVAILABLE, "push to " + reference + ": " + e.getMessage(), ROOM, e);
    };
  }

  private static final String AGAIN =
      "Push again: what the registry has already is not sent twice.";
  private static final String ROOM =
      "The packed layer needs room: --work-dir names a directory that has it.";

  private static PlatterException cancelled(IOException e) {
    return PlatterException.of(Code.CONFLICT, "cancelled", AGAIN, e);
  }

  private static Code code(RegistryException e) {
    return switch (e.kind()) {
      case NOT_FOUND -> Code.NOT_FOUND;
      case UNAUTHORIZED, UNAVAILABLE -> Code.UNAVAILABLE;
      case PROTOCOL -> Code.REFUSED;
    };
  }
}
