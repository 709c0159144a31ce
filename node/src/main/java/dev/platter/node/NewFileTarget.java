package dev.platter.node;

import dev.platter.image.Digest;
import dev.platter.image.fill.DiskFill;
import dev.platter.image.fill.Fill;
import dev.platter.image.fill.Filled;
import dev.platter.image.fill.Format;
import dev.platter.image.raw.RawTarget;
import dev.platter.model.PlatterException;
import dev.platter.model.PlatterException.Code;
import dev.platter.node.durable.Durable;
import dev.platter.node.durable.FileMutex;
import dev.platter.plan.FillRecord;
import dev.platter.plan.StateLayout;
import java.io.IOException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.Optional;
import java.util.function.LongConsumer;
import org.jspecify.annotations.Nullable;

/**
 * A file that gets its name when it is complete. What was begun has another, always the same; the
 * lock says whose it is.
 */
record NewFileTarget(Path file, Path unfinished, boolean replace, FileMutex mutex)
    implements FillTarget {
  static NewFileTarget at(StateLayout layout, Path file, boolean replace) throws IOException {
    if (!Files.isDirectory(Durable.parent(file))) {
      throw PlatterException.of(
          Code.NOT_FOUND, "there is no directory " + Durable.parent(file), "Make it.");
    }
    var real = Durable.parent(file).toRealPath().resolve(file.getFileName());
    var mutex =
        FileMutex.tryTake(layout.claimLock(LocalDeviceRecords.hash(real.toString())))
            .orElseThrow(() -> Leases.filled(file.toString()));
    var unfinished = file.resolveSibling("." + file.getFileName() + ".part");
    var target = new NewFileTarget(file, unfinished, replace, mutex);
    if (!replace && Files.exists(file)) {
      target.close(); // who made it may have been killed when it had both names
      throw exists(file);
    }
    return target;
  }

  private static PlatterException exists(Path file) {
    return PlatterException.of(
        Code.CONFLICT, "there is a file " + file, "Name another, or say --replace.");
  }

  @Override
  public Optional<FillRecord> held(String source, Optional<Digest> digest) {
    return Optional.empty();
  }

  @Override
  public void begin(String source) {}

  @Override
  public Fill open(@Nullable Format format, Optional<Digest> expected, LongConsumer progress)
      throws IOException {
    Files.deleteIfExists(unfinished);
    return new DiskFill(RawTarget.create(unfinished), -1, format, expected.orElse(null), progress);
  }

  @Override
  public void complete(Filled filled) throws IOException {
    if (replace) {
      Files.move(unfinished, file, StandardCopyOption.ATOMIC_MOVE);
    } else {
      name();
      Files.deleteIfExists(unfinished);
    }
    Durable.syncDirectory(Durable.parent(file));
  }

  /** By a hard link, which unlike a rename replaces nothing. */
  private void name() throws IOException {
    try {
      Files.createLink(file, unfinished);
    } catch (FileAlreadyExistsException e) {
      throw exists(file);
    } catch (FileSystemException e) { // Some file systems have no links.
      if (Files.exists(file)) {
        throw exists(file);
      }
      Files.move(unfinished, file, StandardCopyOption.ATOMIC_MOVE);
    }
  }

  @Override
  public void close() throws IOException {
    try (mutex) {
      Files.deleteIfExists(unfinished);
    }
  }
}
