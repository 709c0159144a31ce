package dev.platter.plan;

import dev.platter.model.PlatterException;
import dev.platter.model.PlatterException.Code;
import dev.platter.plan.PlannedDisk.Link;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * What a VM is on the node that it moves to: the same plan with the paths of that node. Pure.
 *
 * <p>A source that both nodes reach stays what it is, and an image is the same digest everywhere.
 * What was made for the VM in a pool is made there again, empty, and filled from here. What only
 * this node has does not move, nor does a VM that depends on it.
 */
public final class Relocation {
  private final Plan plan;
  private final StateLayout from;
  private final StateLayout to;
  private final String libvirt;
  private final Set<String> made = new HashSet<>();
  private final Map<String, String> pools = new TreeMap<>();

  /** The longest first: one directory may be in another. */
  private final Map<String, String> directories =
      new TreeMap<>(Comparator.comparingInt(String::length).reversed().thenComparing(s -> s));

  /**
   * A disk whose bytes have to be copied.
   *
   * @param from what it is in here
   * @param to what it will be in there
   * @param overlay whether it lies on something that is the same there
   */
  public record Copied(String name, String device, String from, String to, boolean overlay) {}

  /**
   * @param pools usage types to the directories of the other node's pools
   * @param libvirt of the other node
   */
  public Relocation(
      Plan plan, StateLayout from, StateLayout to, Map<String, String> pools, String libvirt) {
    this.plan = plan;
    this.from = from;
    this.to = to;
    this.libvirt = libvirt;
    for (var step : plan.steps()) {
      madeBy(step).ifPresent(made::add);
    }
    directories.put(from.state().toString(), to.state().toString());
    directories.put(from.run().toString(), to.run().toString());
    for (var pool : plan.pools().entrySet()) {
      var there = pools.get(pool.getKey());
      if (there == null) {
        throw PlatterException.of(
            Code.UNSUPPORTED,
            "the VM has disks in the pool %s, and the other node has none of that name"
                .formatted(pool.getKey()),
            "Name a directory for it in that node's configuration (see docs/disks.md).");
      }
      this.pools.put(pool.getKey(), there);
      directories.put(pool.getValue(), there);
    }
    refuse();
  }

  /** The disk that a step makes in a pool. */
  public static Optional<String> madeBy(Step step) {
    return switch (step) {
      case Step.CreateOverlay overlay -> Optional.of(overlay.path());
      case Step.CreateVolume volume -> Optional.of(volume.path());
      case Step.CloneDisk clone -> Optional.of(clone.path());
      case Step.CreateBlank blank -> Optional.of(blank.path());
      default -> Optional.empty();
    };
  }

  private void refuse() {
    var reasons = new ArrayList<String>();
    for (var disk : plan.disks()) {
      for (var link : disk.chain()) {
        var reason = bound(disk, link);
        if (reason != null) {
          reasons.add("disk " + disk.name() + ": " + reason);
          break;
        }
      }
    }
    for (var step : plan.steps()) {
      if (step instanceof Step.MakeVolume volume) {
        reasons.add("disk " + volume.disk() + ": a container of this node makes its volume");
      } else if (step instanceof Step.CloneDisk clone && !reachable(clone.from())) {
        reasons.add(clone.path() + " is made anew at each start, from " + clone.from());
      }
    }
    if (!reasons.isEmpty()) {
      throw PlatterException.all(
          Code.UNSUPPORTED,
          "the VM " + plan.key() + " cannot move to another node while it runs",
          "Disks from a registry or a server move, and those that were made for the VM in a pool.",
          reasons);
    }
  }

  /** What keeps a disk on this node; null if nothing does. */
  private @Nullable String bound(PlannedDisk disk, Link link) {
    if (link.snapshot() != null) {
      return "it has the snapshot %s; 'platter disk rmsnapshot %s %s %s' merges it"
          .formatted(link.snapshot(), plan.name(), disk.name(), link.snapshot());
    }
    if (link.device() != null) {
      return "it is on the block device " + link.device() + " of this node";
    }
    var network = link.network();
    if (network != null) {
      return network.socket() == null
          ? null
          : "it is reached through the socket " + network.socket() + " of this node";
    }
    if (made.contains(link.toString()) || isOurs(link.toString())) {
      return null;
    }
    for (var step : plan.steps()) {
      if (step instanceof Step.UseIdentity use && use.file().equals(link.file())) {
        return "it belongs to the identity " + use.identity() + ", which is on this node";
      }
    }
    return "it is on the file " + link.file() + " of this node";
  }

  private boolean reachable(Link link) {
    var network = link.network();
    return network != null ? network.socket() == null : isOurs(link.toString());
  }

  /** Whether it is the base of an image, or the seed. */
  private boolean isOurs(String file) {
    return file.equals(from.seed(from.vm(plan.key())).toString())
        || plan.images().values().stream()
            .anyMatch(digest -> file.equals(from.base(digest).toString()));
  }

  /** The disks that were made for the VM in pools. */
  public List<Copied> copied() {
    return plan.disks().stream()
        .filter(disk -> made.contains(disk.chain().getFirst().toString()))
        .map(
            disk -> {
              var file = disk.chain().getFirst().toString();
              return new Copied(
                  disk.name(), disk.device(), file, path(file), disk.chain().size() > 1);
            })
        .toList();
  }

  /** Where what is at a path here is there; a path that is not Platter's stays as it is. */
  public String path(String path) {
    var file = Path.of(path);
    for (var directory : directories.entrySet()) {
      var here = Path.of(directory.getKey());
      if (file.startsWith(here)) {
        return Path.of(directory.getValue()).resolve(here.relativize(file)).toString();
      }
    }
    return path;
  }

  /** The plan of the VM there. */
  public Plan plan() {
    return new Plan(
        plan.version(),
        plan.namespace(),
        plan.name(),
        plan.uuid(),
        libvirt,
        plan.images(),
        pools,
        plan.disks().stream().map(this::disk).toList(),
        plan.steps().stream().map(this::step).toList());
  }

  private PlannedDisk disk(PlannedDisk disk) {
    return disk.withChain(disk.chain().stream().map(this::link).toList());
  }

  private Link link(Link link) {
    var file = link.file();
    return file == null ? link : Link.ofFile(path(file), link.format());
  }

  private Step step(Step step) {
    return switch (step) {
      case Step.MakeDirectory make -> new Step.MakeDirectory(path(make.path()), make.life());
      case Step.CreateOverlay overlay ->
          new Step.CreateOverlay(
              path(overlay.path()),
              overlay.backing() == null ? null : link(overlay.backing()),
              overlay.size(),
              overlay.orLarger(),
              overlay.files(),
              overlay.life());
      case Step.CreateVolume volume ->
          new Step.CreateVolume(path(volume.path()), volume.size(), volume.life());
      case Step.CloneDisk clone ->
          new Step.CloneDisk(
              path(clone.path()), link(clone.from()), clone.lease(), clone.size(), clone.life());
      case Step.CreateBlank blank ->
          new Step.CreateBlank(path(blank.path()), blank.size(), blank.life());
      case Step.WriteSeed seed -> new Step.WriteSeed(path(seed.path()), seed.label());
      case Step.EnsureImage _, Step.TakeLease _, Step.DefineSecret _, Step.StartDomain _ -> step;
      case Step.MakeVolume _,
          Step.ServeVolume _,
          Step.CheckFile _,
          Step.CheckDevice _,
          Step.MakeDiskImg _,
          Step.CheckDiskImg _,
          Step.FillClaim _,
          Step.ServeWeb _,
          Step.EnsureLayers _,
          Step.CreateSnapshot _,
          Step.UseIdentity _ ->
          throw new IllegalStateException("a VM with this step was not refused: " + step.summary());
    };
  }

  /** The stored domain of the VM there. */
  public String domain(String stored) {
    var domain = stored;
    for (var disk : plan.disks()) {
      domain = DomainText.replaced(domain, disk(disk));
    }
    var uuid = plan.uuid();
    domain = moved(domain, "'%s'", from.consoleSocket(uuid), to.consoleSocket(uuid));
    domain =
        moved(
            domain, "'%s'", from.consoleLog(from.vm(plan.key())), to.consoleLog(to.vm(plan.key())));
    return moved(
        domain,
        "addr.path=%s'",
        Path.of(from.networkSocket(uuid).toString().replace(",", ",,")),
        Path.of(to.networkSocket(uuid).toString().replace(",", ",,")));
  }

  private static String moved(String domain, String text, Path here, Path there) {
    return domain.replace(
        text.formatted(Xml.escape(here.toString())), text.formatted(Xml.escape(there.toString())));
  }
}
