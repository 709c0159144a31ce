package dev.platter.node;

import dev.platter.image.fill.Filled;
import dev.platter.image.raw.RawTarget;
import dev.platter.model.PlatterException;
import dev.platter.model.PlatterException.Code;
import dev.platter.node.durable.Durable;
import dev.platter.plan.FillRecord;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.Optional;

/** A file that gets its name when it is complete. What was begun has another, always the same. */
record NewFileTarget(Path file, Path unfinished) implements FillTarget {
  static NewFileTarget at(Path file, boolean replace) {
    if (!replace && Files.exists(file)) {
      throw PlatterException.of(
          Code.CONFLICT, "there is a file " + file, "Name another, or say --replace.");
    }
    if (!Files.isDirectory(Durable.parent(file))) {
      throw PlatterException.of(
          Code.NOT_FOUND, "there is no directory " + Durable.parent(file), "Make it.");
    }
    return new NewFileTarget(file, file.resolveSibling("." + file.getFileName() + ".part"));
  }

  @Override
  public Optional<FillRecord> held(String source) {
    return Optional.empty();
  }

  @Override
  public long room() {
    return -1;
  }

  @Override
  public void begin(String source) {}

  @Override
  public RawTarget open() throws IOException {
    Files.deleteIfExists(unfinished);
    return RawTarget.create(unfinished);
  }

  @Override
  public void complete(Filled filled) throws IOException {
    Files.move(unfinished, file, StandardCopyOption.ATOMIC_MOVE);
    Durable.syncDirectory(Durable.parent(file));
  }

  @Override
  public void close() throws IOException {
    Files.deleteIfExists(unfinished);
  }
}
