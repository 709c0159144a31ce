package dev.platter.plan;

import dev.platter.model.DiskFormat;
import dev.platter.model.Identity;
import dev.platter.plan.NodeFacts.IdentityPlace;
import dev.platter.plan.PlannedDisk.Link;
import java.nio.file.Path;

/** How the disk of an identity is made: an overlay that no VM's plan makes or removes. */
public final class IdentityPlan {
  private IdentityPlan() {}

  /** Where a new disk goes. */
  public static IdentityPlace place(
      Identity identity, String digest, String pool, String directory) {
    var name = StateLayout.diskFile(identity.diskId(), "root", "qcow2");
    return new IdentityPlace(digest, pool, Path.of(directory).resolve(name).toString());
  }

  public static Step.EnsureImage image(Identity identity, IdentityPlace place) {
    return new Step.EnsureImage(identity.spec().image(), place.digest());
  }

  public static Step.CreateOverlay overlay(
      Identity identity, IdentityPlace place, StateLayout layout) {
    var size = identity.spec().size();
    return new Step.CreateOverlay(
        place.file(),
        Link.ofFile(layout.base(place.digest()).toString(), DiskFormat.RAW),
        size == null ? null : size.bytes(),
        null,
        null,
        Step.Life.VM);
  }
}
