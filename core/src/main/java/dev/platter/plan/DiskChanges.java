package dev.platter.plan;

import dev.platter.model.Bus;
import dev.platter.model.PlatterException;
import dev.platter.model.PlatterException.Code;
import dev.platter.model.Vm;
import dev.platter.plan.PlannedDisk.Link;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.UnaryOperator;
import java.util.regex.Pattern;

/**
 * From a running VM's plan and what a user wants of one of its disks to the changed plan. Pure, and
 * the plan is edited, not made again: the VM keeps what it was made with.
 */
public final class DiskChanges {
  private static final Pattern NAME = Pattern.compile("[A-Za-z0-9][A-Za-z0-9._-]{0,39}");
  private static final int MOST_SNAPSHOTS = 16;

  private final StateLayout layout;
  private final Plan plan;
  private final String domainXml;

  public DiskChanges(StateLayout layout, Plan plan, String domainXml) {
    this.layout = layout;
    this.plan = plan;
    this.domainXml = domainXml;
  }

  /** The disk of this name. */
  public PlannedDisk disk(String name) {
    return plan.disks().stream()
        .filter(disk -> disk.name().equals(name))
        .findFirst()
        .orElseThrow(
            () ->
                PlatterException.of(
                    Code.NOT_FOUND,
                    "the VM " + plan.key() + " has no disk " + name,
                    "'platter disk ls " + plan.name() + "' lists its disks."));
  }

  /**
   * @param size more than the disk has now
   */
  public DiskChange grow(String name, long size) {
    var disk = writable(name, "grown");
    var top = disk.chain().getFirst();
    if (top.network() != null) {
      throw PlatterException.of(
          Code.UNSUPPORTED,
          "the disk " + name + " is used in place, so its size is that of " + top,
          "Grow it on its server, or use it with a copy mode.");
    }
    if (disk.shareable()) {
      throw PlatterException.of(
          Code.UNSUPPORTED,
          "the disk " + name + " is write-shared, and other VMs would not see the new size",
          "Stop the VMs that use " + top + " and grow the file.");
    }
    return change(
        new LiveEffect.Grow(disk.device(), size),
        List.of(),
        List.of(),
        with(plan.disks(), resized(top, size), plan.images()),
        domainXml);
  }

  /**
   * @param size what the disk has now
   */
  public DiskChange snapshot(String name, String snapshot, long size) {
    var disk = writable(name, "snapshotted");
    var top = disk.chain().getFirst();
    if (!NAME.matcher(snapshot).matches()) {
      throw PlatterException.of(
          Code.INVALID,
          "'" + snapshot + "' cannot name a snapshot",
          "Use 1 to 40 letters, digits, dots, dashes or underscores.");
    }
    var below = disk.chain().stream().filter(link -> link.snapshot() != null).toList();
    if (below.stream().anyMatch(link -> snapshot.equals(link.snapshot()))) {
      throw PlatterException.of(
          Code.CONFLICT,
          "the disk " + name + " has a snapshot " + snapshot + " already",
          "Choose another name, or remove that one first.");
    }
    if (below.size() >= MOST_SNAPSHOTS) {
      throw PlatterException.of(
          Code.UNSUPPORTED,
          "the disk " + name + " has " + below.size() + " snapshots, and each makes reads slower",
          "Remove some with 'platter disk rmsnapshot'.");
    }
    var maker = maker(top);
    if (maker < 0) {
      throw PlatterException.of(
          Code.UNSUPPORTED,
          "the disk "
              + name
              + " is used in place, and what is written after a snapshot would not be in "
              + top,
          "Use it with copy mode copy-on-write or clone.");
    }
    var file = Path.of(String.valueOf(top.file()));
    var overlay = layout.snapshot(file, plan.uuid(), name, snapshot).toString();
    var step = new Step.CreateSnapshot(overlay, top, size, plan.steps().get(maker).life());
    var steps = new ArrayList<>(plan.steps());
    steps.add(maker + 1, step);
    var chain = new ArrayList<>(disk.chain());
    chain.addFirst(Link.ofSnapshot(overlay, snapshot));
    return change(
        new LiveEffect.Stack(disk.device(), overlay),
        List.of(step),
        List.of(),
        with(replaced(disk.withChain(chain)), steps, plan.images()),
        DomainText.replaced(domainXml, disk.withChain(chain)));
  }

  /** Only the newest can be removed: what lies on it would be left without. */
  public DiskChange removeSnapshot(String name, String snapshot) {
    var disk = disk(name);
    if (disk.chain().stream().noneMatch(link -> snapshot.equals(link.snapshot()))) {
      throw PlatterException.of(
          Code.NOT_FOUND,
          "the disk " + name + " has no snapshot " + snapshot,
          "'platter disk ls " + plan.name() + "' lists them.");
    }
    var top = disk.chain().getFirst();
    if (!snapshot.equals(top.snapshot())) {
      throw PlatterException.of(
          Code.CONFLICT,
          "the snapshot " + snapshot + " is below the snapshot " + top.snapshot(),
          "Remove the newer one first: platter disk rmsnapshot %s %s %s"
              .formatted(plan.name(), name, top.snapshot()));
    }
    if (!(plan.steps().get(maker(top)) instanceof Step.CreateSnapshot step)) {
      throw new IllegalArgumentException("no step made the snapshot " + snapshot);
    }
    var changed = disk.withChain(disk.chain().subList(1, disk.chain().size()));
    var below = changed.chain().getFirst();
    var steps = new ArrayList<>(resized(below, step.size()));
    steps.remove(step);
    return change(
        new LiveEffect.Commit(disk.device(), step.path(), String.valueOf(below.file())),
        List.of(),
        List.of(step),
        with(replaced(changed), steps, plan.images()),
        DomainText.replaced(domainXml, changed));
  }

  /**
   * @param alone the plan of a VM that has this disk and no other
   */
  public DiskChange attach(Planned alone) {
    var disk = alone.plan().disks().getFirst().added();
    refuseSecond(disk);
    if (disk.bus() != Bus.SCSI || !domainXml.contains("\n    <controller type='scsi' ")) {
      throw PlatterException.of(
          Code.UNSUPPORTED,
          disk.bus() == Bus.SCSI
              ? "the VM " + plan.key() + " has no SCSI controller to attach a disk to"
              : "a running VM has no free place for a disk on the " + disk.bus().word() + " bus",
          "Attach to scsi, and make the VM with at least one disk there.");
    }
    if (!alone.plan().fills().isEmpty()) {
      throw PlatterException.of(
          Code.UNSUPPORTED,
          "a persistent disk cannot be attached to a running VM",
          "Put the disk into the VM's description and start it with it.");
    }
    if (alone.plan().steps().stream().anyMatch(Step.CheckDiskImg.class::isInstance)) {
      throw PlatterException.of(
          Code.UNSUPPORTED,
          "a file system's disk.img cannot be attached to a running VM: whether QEMU opened the file that was checked is"
              + " known only at a start",
          "Put the disk into the VM's description and start it with it.");
    }
    var made = new ArrayList<Step>();
    for (var step : alone.plan().steps()) {
      var ofTheVm = step instanceof Step.MakeDirectory || step instanceof Step.StartDomain;
      if (!ofTheVm && !(step instanceof Step.EnsureImage && plan.steps().contains(step))) {
        made.add(step);
      }
    }
    made.forEach(this::refuseSameSource);
    var steps = new ArrayList<>(plan.steps());
    steps.addAll(steps.size() - 1, made);
    var disks = new ArrayList<>(plan.disks());
    disks.add(disk);
    var images = new TreeMap<>(plan.images());
    images.putAll(alone.plan().images());
    var pools = new TreeMap<>(plan.pools());
    pools.putAll(alone.plan().pools());
    return change(
        new LiveEffect.Attach(disk.device(), DomainText.element(disk)),
        made,
        List.of(),
        with(disks, steps, images, pools),
        DomainText.with(domainXml, disk));
  }

  private void refuseSecond(PlannedDisk disk) {
    for (var other : plan.disks()) {
      if (other.name().equals(disk.name()) || other.device().equals(disk.device())) {
        throw PlatterException.of(
            Code.CONFLICT,
            "the VM %s has a disk %s (%s) already"
                .formatted(plan.key(), other.name(), other.device()),
            "Give the new disk a name and a target.device of its own.");
      }
    }
  }

  /** A lease that is taken back could not be told from the one that is there. */
  private void refuseSameSource(Step step) {
    var source =
        switch (step) {
          case Step.TakeLease lease -> lease.source();
          case Step.CloneDisk clone -> clone.lease();
          default -> null;
        };
    if (source != null
        && plan.steps().stream()
            .anyMatch(old -> old instanceof Step.TakeLease held && held.source().equals(source))) {
      throw PlatterException.of(
          Code.CONFLICT,
          "a disk of the VM " + plan.key() + " uses " + source + " already",
          "A running VM can be given a source only once.");
    }
  }

  public DiskChange detach(String name) {
    var disk = disk(name);
    if (disk.boot() || disk.source().equals(Vm.SEED_DISK)) {
      throw PlatterException.of(
          Code.CONFLICT,
          "the disk " + name + (disk.boot() ? " is what the VM boots from" : " is not the user's"),
          "Only disks besides the boot disk and the cloud-init disk can be detached.");
    }
    var others = new ArrayList<>(plan.disks());
    others.remove(disk);
    var owner = new StepOwner(layout);
    var dropped =
        plan.steps().stream()
            .filter(step -> owner.needs(disk, step, plan.steps()))
            .filter(
                step -> others.stream().noneMatch(other -> owner.needs(other, step, plan.steps())))
            .toList();
    var steps = new ArrayList<>(plan.steps());
    steps.removeAll(dropped);
    var images = new TreeMap<>(plan.images());
    dropped.forEach(
        step -> {
          if (step instanceof Step.EnsureImage image) {
            images.remove(image.reference());
          }
        });
    return change(
        new LiveEffect.Detach(disk.device()),
        List.of(),
        dropped,
        with(others, steps, images),
        DomainText.without(domainXml, disk));
  }

  private PlannedDisk writable(String name, String done) {
    var disk = disk(name);
    if (disk.readOnly()) {
      throw PlatterException.of(
          Code.UNSUPPORTED,
          "the disk " + name + " is read-only, so it cannot be " + done,
          "Only disks that the guest can write to can.");
    }
    return disk;
  }

  private List<PlannedDisk> replaced(PlannedDisk changed) {
    return plan.disks().stream()
        .map(disk -> disk.device().equals(changed.device()) ? changed : disk)
        .toList();
  }

  /** The step that makes a local file; -1 if it is somebody else's. */
  private int maker(Link link) {
    for (var i = 0; i < plan.steps().size(); i++) {
      if (StepOwner.file(plan.steps().get(i)).filter(link.toString()::equals).isPresent()) {
        return i;
      }
    }
    return -1;
  }

  /** A disk that is made again at the next start is made with the size that it has by then. */
  private List<Step> resized(Link top, long size) {
    var steps = new ArrayList<>(plan.steps());
    var maker = maker(top);
    if (maker >= 0) {
      UnaryOperator<Step> resize =
          step ->
              switch (step) {
                case Step.CreateOverlay(
                        var path,
                        var backing,
                        var _,
                        var larger,
                        var files,
                        var life) ->
                    new Step.CreateOverlay(path, backing, size, larger, files, life);
                case Step.CreateVolume(var path, var _, var life) ->
                    new Step.CreateVolume(path, size, life);
                case Step.CreateSnapshot(var path, var backing, var _, var life) ->
                    new Step.CreateSnapshot(path, backing, size, life);
                case Step.CloneDisk(var path, var from, var lease, var _, var life) ->
                    new Step.CloneDisk(path, from, lease, size, life);
                case Step.CreateBlank(var path, var _, var life) ->
                    new Step.CreateBlank(path, size, life);
                default -> step;
              };
      steps.set(maker, resize.apply(steps.get(maker)));
    }
    return steps;
  }

  private Plan with(List<PlannedDisk> disks, List<Step> steps, Map<String, String> images) {
    return with(disks, steps, images, plan.pools());
  }

  private Plan with(
      List<PlannedDisk> disks,
      List<Step> steps,
      Map<String, String> images,
      Map<String, String> pools) {
    return new Plan(
        plan.version(),
        plan.namespace(),
        plan.name(),
        plan.uuid(),
        plan.libvirt(),
        images,
        pools,
        disks,
        steps);
  }

  private static DiskChange change(
      LiveEffect effect, List<Step> made, List<Step> dropped, Plan next, String domainXml) {
    return new DiskChange(effect, made, dropped, next, domainXml, false);
  }
}
