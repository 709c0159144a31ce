package dev.platter.plan;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.UUID;

/**
 * How a VM gets its disks and runs, in order. Stored with the VM and replayed backwards to take it
 * down; it is never derived a second time.
 *
 * <p>Where disks come from volumes that containers have yet to make, a plan has only the steps that
 * make them. When these are done it grows, once, by the steps that follow from the answers.
 *
 * @param libvirt the libvirt that runs the VM; empty means Platter's own
 * @param images references to the digests that they mean for the life of this VM
 * @param pools the pools that hold its local files, to the directories that they mean for the life
 *     of this VM
 * @param disks the disks as the guest sees them, for people and programs that ask
 */
public record Plan(
    int version,
    String namespace,
    String name,
    UUID uuid,
    String libvirt,
    Map<String, String> images,
    Map<String, String> pools,
    List<PlannedDisk> disks,
    List<Step> steps) {
  public static final int VERSION = 1;

  public Plan {
    images = Map.copyOf(images);
    pools = Map.copyOf(pools);
    disks = List.copyOf(disks);
    steps = List.copyOf(steps);
  }

  /** Whether nothing is left to be found out: a whole plan ends with a VM that runs. */
  public boolean whole() {
    return !steps.isEmpty() && steps.getLast() instanceof Step.StartDomain;
  }

  /** These steps, and then those of the rest; all else is as the rest says. */
  Plan then(Plan rest) {
    var all = new ArrayList<>(steps);
    all.addAll(rest.steps);
    return new Plan(
        rest.version,
        rest.namespace,
        rest.name,
        rest.uuid,
        rest.libvirt,
        rest.images,
        rest.pools,
        rest.disks,
        all);
  }

  /**
   * The images that it writes to claims, to their digests; the VM needs them no longer than that.
   */
  public Map<String, String> fills() {
    var out = new TreeMap<String, String>();
    for (var step : steps) {
      if (step instanceof Step.FillClaim fill) {
        out.put(fill.image(), fill.digest());
      }
    }
    return out;
  }

  /** How a disk on a claim got its image; empty if it did not. */
  public Optional<Step.FillClaim> fill(PlannedDisk disk) {
    var link = disk.chain().isEmpty() ? "" : disk.chain().getLast().toString();
    return steps.stream()
        .filter(Step.FillClaim.class::isInstance)
        .map(Step.FillClaim.class::cast)
        .filter(fill -> fill.disk().opens().equals(link))
        .findFirst();
  }

  /** The container image whose program the VM runs, if it does. */
  public Optional<Step.EnsureLayers> runs() {
    return steps.stream()
        .filter(Step.EnsureLayers.class::isInstance)
        .map(Step.EnsureLayers.class::cast)
        .findFirst();
  }

  public VmKey key() {
    return new VmKey(namespace, name);
  }
}
