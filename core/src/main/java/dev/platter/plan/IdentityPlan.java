package dev.platter.plan;

import dev.platter.model.DiskFormat;
import dev.platter.model.Identity;
import dev.platter.plan.NodeFacts.IdentityPlace;
import dev.platter.plan.PlannedDisk.Link;
import java.nio.file.Path;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** How the disk of an identity is made: an overlay that no VM's plan makes or removes. */
public final class IdentityPlan {
  private IdentityPlan() {}

  /**
   * Where a new disk goes.
   *
   * @param digest of its image; null if it will be whole
   */
  public static IdentityPlace place(
      Identity identity, @Nullable String digest, String pool, String directory) {
    var name = StateLayout.diskFile(identity.diskId(), "root", "qcow2");
    return new IdentityPlace(digest, pool, Path.of(directory).resolve(name).toString());
  }

  /** What has to be here below it; empty if it is whole. */
  public static Optional<Step.EnsureImage> image(Identity identity, IdentityPlace place) {
    return Optional.ofNullable(place.digest())
        .map(digest -> new Step.EnsureImage(identity.spec().image(), digest));
  }

  public static Step.CreateOverlay overlay(
      Identity identity, IdentityPlace place, StateLayout layout) {
    var size = identity.spec().size();
    var digest = place.digest();
    return new Step.CreateOverlay(
        place.file(),
        digest == null ? null : Link.ofFile(layout.base(digest).toString(), DiskFormat.RAW),
        size == null ? null : size.bytes(),
        null,
        null,
        Step.Life.VM);
  }
}
