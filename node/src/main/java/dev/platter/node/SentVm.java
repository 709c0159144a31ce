package dev.platter.node;

import dev.platter.model.PlatterException;
import dev.platter.model.PlatterException.Code;
import dev.platter.plan.Plan;
import dev.platter.plan.Planned;
import dev.platter.plan.Relocation;
import dev.platter.plan.Step;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Objects;

/**
 * A VM as another node of a cluster sends it, which may have been broken into. What is made here is
 * what this node has planned by itself from the VM's own description; the other has to mean the
 * same. Of what it sends only this is used: which of an image's digests the VM was made with, how
 * large disks have become, and the cloud-init disk, all of which the guest could do no more harm
 * with than with the memory that comes from there too.
 */
record SentVm(String node, MovingVm vm) {
  /** Larger ones could not be copied anyway. */
  private static final long LARGEST_DISK = 1L << 46;

  static PlatterException refused(String node, String why) {
    return PlatterException.of(
        Code.REFUSED,
        "%s sends another VM than its object describes: %s".formatted(node, why),
        "The VM goes on where it is. Start it anew, and it can move.");
  }

  /**
   * @param names of storage servers, as they are looked up here
   * @return what is to be made here
   */
  MovingVm as(Planned planned, ServerNames names) {
    var plan = planned.plan();
    same(plan, vm.plan());
    copied(plan);
    if ((vm.seed() != null) != plan.steps().stream().anyMatch(Step.WriteSeed.class::isInstance)) {
      throw refused(node, "one of them has a cloud-init disk");
    }
    var domain = Objects.requireNonNull(planned.domainXml());
    var running = SentDomain.merged(node, names.pinned(domain, plan), vm.running());
    return new MovingVm(plan, domain, running, vm.seed(), vm.sizes(), vm.disks());
  }

  private void same(Plan own, Plan theirs) {
    if (own.equals(theirs)) {
      return;
    }
    for (var disk : theirs.disks()) {
      if (!own.disks().contains(disk)) {
        throw refused(node, "the disk %s is %s there".formatted(disk.name(), disk.chain()));
      }
    }
    for (var step : theirs.steps()) {
      if (!own.steps().contains(step)) {
        throw refused(node, "only there: " + step.summary());
      }
    }
    for (var step : own.steps()) {
      if (!theirs.steps().contains(step)) {
        throw refused(node, "not there: " + step.summary());
      }
    }
    throw refused(node, "it was planned otherwise");
  }

  private void copied(Plan plan) {
    var made = plan.steps().stream().flatMap(step -> Relocation.madeBy(step).stream()).toList();
    var expected = new ArrayList<List<String>>();
    var paths = new HashSet<String>();
    for (var disk : plan.disks()) {
      var path = disk.chain().getFirst().toString();
      if (made.contains(path)) {
        expected.add(List.of(disk.name(), disk.device(), path));
        paths.add(path);
      }
    }
    var sent =
        vm.disks().stream().map(disk -> List.of(disk.name(), disk.device(), disk.to())).toList();
    if (!expected.equals(sent)) {
      throw refused(node, "other disks are to be copied: " + sent);
    }
    if (!paths.equals(vm.sizes().keySet())
        || vm.sizes().values().stream().anyMatch(size -> size < 0 || size > LARGEST_DISK)) {
      throw refused(node, "disks that cannot be so large: " + vm.sizes());
    }
  }
}
