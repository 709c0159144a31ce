package dev.platter.node;

import dev.platter.model.PlatterException;
import dev.platter.model.PlatterException.Code;
import dev.platter.node.durable.Cancellation;
import dev.platter.node.durable.Durable;
import java.io.IOException;
import java.nio.channels.ClosedByInterruptException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Path;

/** A file that a step makes, under its final name from the beginning. */
final class NewFile {
  private NewFile() {}

  /** Makes a file under its final name. */
  interface Maker {
    void make(Path path) throws IOException;
  }

  /**
   * Makes a file that was not there; on failure it is not there again, unless it was somebody
   * else's all along.
   */
  static void create(String path, Maker maker) throws IOException {
    var file = Path.of(path);
    Durable.makeDirectories(Durable.parent(file));
    try {
      maker.make(file);
    } catch (FileAlreadyExistsException e) {
      throw foreign("file " + path);
    } catch (ClosedByInterruptException e) {
      Cancellation.shield(() -> deleteAfter(file, e));
      throw Cancellation.cancelled();
    } catch (IOException | RuntimeException e) {
      Cancellation.shield(() -> deleteAfter(file, e));
      throw e;
    }
  }

  private static void deleteAfter(Path file, Exception cause) {
    try {
      Durable.delete(file);
    } catch (IOException e) {
      cause.addSuppressed(e);
    }
  }

  /** What there is already where something is to be made. */
  static PlatterException foreign(String what) {
    return PlatterException.of(
        Code.CONFLICT,
        "the " + what + " exists, and no record of Platter names it",
        "Platter does not touch what it did not make. Move it away, or give the VM another name.");
  }
}
