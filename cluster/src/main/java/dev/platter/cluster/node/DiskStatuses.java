package dev.platter.cluster.node;

import dev.platter.cluster.api.VmStatus.DiskStatus;
import dev.platter.model.ContainerImageSource;
import dev.platter.node.VmDisks;
import dev.platter.plan.Plan;
import dev.platter.plan.PlannedDisk;
import dev.platter.plan.StateLayout;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** The disks of a VM in the words of its object. Pure. */
final class DiskStatuses {
  private static final String SEED = "cloud-init";

  private final Plan plan;
  private final StateLayout layout;
  private final Map<String, Fetched> fetched;

  private DiskStatuses(Plan plan, StateLayout layout, Map<String, Fetched> fetched) {
    this.plan = plan;
    this.layout = layout;
    this.fetched = fetched;
  }

  /** How much of an image this node has, in bytes of the disk. */
  record Fetched(long present, long total) {
    /** 100 only if nothing is missing. */
    int percent() {
      return total == 0 ? 100 : (int) (100 * ((double) present / total));
    }
  }

  /**
   * @param fetched by the images' digests
   */
  static List<DiskStatus> of(
      Plan plan, StateLayout layout, List<VmDisks.Listed> disks, Map<String, Fetched> fetched) {
    var statuses = new DiskStatuses(plan, layout, fetched);
    return disks.stream()
        .filter(disk -> !disk.disk().name().equals(SEED))
        .map(statuses::of)
        .toList();
  }

  private DiskStatus of(VmDisks.Listed listed) {
    var disk = listed.disk();
    var image = image(disk);
    var progress =
        image.filter(_ -> plan.fill(disk).isEmpty()).map(found -> fetched.get(found.getValue()));
    return new DiskStatus(
        disk.name(),
        image.map(found -> disk.source() + " " + found.getKey()).orElse(disk.source()),
        image.map(Map.Entry::getValue).orElse(null),
        listed.size().isPresent() ? (Long) listed.size().getAsLong() : null,
        disk.chain().stream().map(PlannedDisk.Link::toString).toList(),
        progress.map(Fetched::present).orElse(null),
        progress.map(Fetched::total).orElse(null),
        progress.map(Fetched::percent).orElse(null));
  }

  /** A reference with its digest. A clone does not lie on its image any more. */
  private Optional<Map.Entry<String, String>> image(PlannedDisk disk) {
    if (disk.source().equals(ContainerImageSource.KIND)) {
      return plan.runs().map(layers -> Map.entry(layers.reference(), layers.image().digest()));
    }
    if (!disk.source().equals("image")) {
      return plan.fill(disk).map(fill -> Map.entry(fill.image(), fill.digest()));
    }
    var below = disk.chain().isEmpty() ? null : disk.chain().getLast().file();
    return plan.images().entrySet().stream()
        .filter(image -> plan.images().size() == 1 || isBase(image.getValue(), below))
        .findFirst();
  }

  private boolean isBase(String digest, @Nullable String file) {
    return layout.base(digest).toString().equals(file);
  }
}
