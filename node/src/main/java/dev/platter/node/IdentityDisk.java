package dev.platter.node;

import dev.platter.image.qcow2.Qcow2Overlay;
import dev.platter.image.raw.SparseFile;
import dev.platter.model.Identity;
import dev.platter.plan.NodeFacts.IdentityPlace;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.time.Instant;

/** An identity whose disk is on this machine. */
public record IdentityDisk(Identity identity, IdentityPlace place, Instant made) {
  public Path file() {
    return Path.of(place.file());
  }

  /** Whether it has all of its image in itself, and lies on nothing. */
  public boolean isWhole() {
    return place.digest() == null;
  }

  /**
   * What the guest sees; a running VM may have made it larger than it was. 0 if somebody took the
   * file away.
   */
  public long size() throws IOException {
    try {
      return Qcow2Overlay.sizeOf(file());
    } catch (NoSuchFileException e) {
      return 0;
    }
  }

  /** What it takes of the file system, beside its image. */
  public long allocated() throws IOException {
    return Files.exists(file()) ? SparseFile.onDisk(file()) : 0;
  }
}
