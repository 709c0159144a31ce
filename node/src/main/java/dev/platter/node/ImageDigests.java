package dev.platter.node;

import dev.platter.model.Fill;
import dev.platter.model.ImageLogins;
import dev.platter.model.ImageSource;
import dev.platter.model.Vm;
import dev.platter.node.image.Images;
import dev.platter.plan.Plan;
import dev.platter.plan.Step;
import java.io.IOException;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;

/**
 * What the references of a VM mean: what its plan says, or what its claims hold, or what is now.
 */
record ImageDigests(Images images, ClaimFill claims, Progress progress) {
  /**
   * @param vm with its claims resolved
   * @param known the plan that it has
   */
  Map<String, String> of(Vm vm, Optional<Plan> known, ImageLogins logins) throws IOException {
    var out = new HashMap<String, String>();
    known.map(Plan::fills).ifPresent(out::putAll);
    known.map(Plan::images).ifPresent(out::putAll);
    for (var disk : vm.disks()) {
      if (disk.source() instanceof ImageSource image && !out.containsKey(image.reference())) {
        out.put(image.reference(), images.resolve(image.reference(), logins, progress));
      }
    }
    for (var disk : vm.disks()) {
      var fill = disk.fill();
      if (fill != null && !out.containsKey(fill.image())) {
        out.put(fill.image(), ofClaim(fill, Step.CheckClaim.of(disk), logins));
      }
    }
    return out;
  }

  private String ofClaim(Fill fill, Optional<Step.CheckClaim> disk, ImageLogins logins)
      throws IOException {
    var held = disk.isPresent() ? claims.digest(fill, disk.get()) : Optional.<String>empty();
    return held.isPresent() ? held.get() : images.resolve(fill.image(), logins, progress);
  }
}
