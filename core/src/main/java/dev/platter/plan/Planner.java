package dev.platter.plan;

import dev.platter.model.Access;
import dev.platter.model.BlankSource;
import dev.platter.model.ClaimSource;
import dev.platter.model.ContainerImageSource;
import dev.platter.model.ContainerSource;
import dev.platter.model.CopyMode;
import dev.platter.model.DeviceSource;
import dev.platter.model.Disk;
import dev.platter.model.DiskFormat;
import dev.platter.model.DiskImgSource;
import dev.platter.model.FileSource;
import dev.platter.model.GlusterSource;
import dev.platter.model.GuestFile;
import dev.platter.model.HttpSource;
import dev.platter.model.Identity;
import dev.platter.model.IdentitySource;
import dev.platter.model.ImageSource;
import dev.platter.model.IscsiSource;
import dev.platter.model.NbdSource;
import dev.platter.model.PlatterException;
import dev.platter.model.Pool;
import dev.platter.model.RbdSource;
import dev.platter.model.ServedSource;
import dev.platter.model.Uuids;
import dev.platter.model.Vm;
import dev.platter.model.VolumeSource;
import dev.platter.plan.PlannedDisk.Link;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/**
 * From what a user wants to how this machine does it. Pure: the same VM and facts give the same
 * plan.
 *
 * <p>For a VM whose containers have yet to make volumes the plan is the beginning of one. All else
 * is planned nevertheless, so that what cannot work is refused before a container is asked.
 */
public final class Planner {
  private final Vm vm;
  private final NodeFacts facts;
  private final List<Step> steps = new ArrayList<>();
  private final List<Step> volumes = new ArrayList<>();
  private final List<Step> checks = new ArrayList<>();
  private final List<PlannedDisk> disks = new ArrayList<>();
  private final TreeMap<String, String> images = new TreeMap<>();
  private final TreeMap<String, String> pools = new TreeMap<>();

  private Planner(Vm vm, NodeFacts facts) {
    this.vm = vm;
    this.facts = facts;
  }

  public static Planned plan(Vm vm, NodeFacts facts) {
    return new Planner(vm, facts).plan();
  }

  private Planned plan() {
    var layout = facts.layout();
    steps.add(new Step.MakeDirectory(layout.runVm(vm.uuid()).toString(), Step.Life.RUN));
    vm.disks().forEach(this::disk);
    var directory = layout.vm(new VmKey(vm.namespace(), vm.name()));
    var cloudInit = vm.cloudInit();
    var seed = cloudInit == null ? runSeed() : CloudInitSeed.of(vm, cloudInit);
    if (seed != null) {
      var path = layout.seed(directory).toString();
      steps.add(new Step.WriteSeed(path, seed.label()));
      disks.add(seedDisk(path));
    }
    steps.addAll(checks);
    steps.add(new Step.StartDomain(vm.uuid(), DomainXml.domainName(vm)));
    return volumes.isEmpty()
        ? new Planned(
            plan(disks, steps), DomainXml.of(vm, facts, disks), seed, vm.inside().rootFiles())
        : new Planned(plan(List.of(), volumes), null, seed, List.of());
  }

  private Plan plan(List<PlannedDisk> ofDisks, List<Step> ofSteps) {
    return new Plan(
        Plan.VERSION,
        vm.namespace(),
        vm.name(),
        vm.uuid(),
        facts.libvirt(),
        images,
        pools,
        ofDisks,
        ofSteps);
  }

  private void disk(Disk disk) {
    var chain =
        switch (disk.source()) {
          case ImageSource image -> image(disk, image);
          case ContainerImageSource image -> containerImage(disk, image);
          case FileSource file -> file(disk, file);
          case BlankSource _ -> blank(disk);
          case VolumeSource volume -> fresh(disk, volume);
          case IscsiSource iscsi -> network(disk, NetworkDisk.of(iscsi, secret(disk)));
          case RbdSource rbd -> network(disk, NetworkDisk.of(rbd, secret(disk)));
          case NbdSource nbd -> network(disk, NetworkDisk.of(nbd));
          case GlusterSource gluster -> network(disk, NetworkDisk.of(gluster));
          case HttpSource http -> web(disk, NetworkDisk.of(http, facts.isolated()));
          case DeviceSource device -> device(disk, device);
          case DiskImgSource img -> diskImg(disk, img);
          case ClaimSource claim ->
              throw new IllegalArgumentException("nobody resolved the claim " + claim.claim());
          case ContainerSource container -> volume(disk, container);
          case ServedSource _ ->
              throw PlatterException.of(
                  PlatterException.Code.UNSUPPORTED,
                  "disk " + disk.name() + ": its image is served beside the VM on a cluster only",
                  "Remove serve: the image is read as it is needed. Or run 'platter serve', and name"
                      + " what it serves as source.iscsi.");
          case IdentitySource identity -> identity(identity.identity());
        };
    disks.add(
        new PlannedDisk(
            disk.name(),
            disk.target().device(),
            disk.target().bus(),
            disk.target().position(),
            !disk.writable(),
            disk.copy().mode() == CopyMode.NONE && disk.access() == Access.WRITE_SHARED,
            disk.copy().mode() == CopyMode.COPY_ON_READ,
            disk.equals(vm.bootDisk()),
            disk.keep(),
            disk.source().kind(),
            chain));
  }

  /** What QEMU opens is not known yet; where a copy of it goes is. */
  private List<Link> volume(Disk disk, ContainerSource container) {
    var vmDirectory = facts.layout().vm(new VmKey(vm.namespace(), vm.name()));
    var directory = facts.layout().volume(vmDirectory, disk.name()).toString();
    volumes.add(new Step.MakeVolume(disk.name(), container, facts.containerd(), directory));
    volumes.add(new Step.ServeVolume(disk.name(), facts.containerd(), directory));
    if (disk.copy().mode() != CopyMode.NONE) {
      poolFile(disk, "");
    }
    return List.of();
  }

  private List<Link> image(Disk disk, ImageSource image) {
    return local(disk, base(image.reference(), digest(image.reference())), null);
  }

  /** The chain has one file for each layer of the image. */
  private List<Link> containerImage(Disk disk, ContainerImageSource source) {
    var image = container(source);
    steps.add(new Step.EnsureLayers(source.reference(), image));
    var layers =
        image.layers().reversed().stream()
            .map(layer -> Link.ofFile(facts.layout().layerDisk(layer).toString(), DiskFormat.QCOW2))
            .toList();
    var chain = new ArrayList<>(local(disk, layers.getFirst(), null));
    chain.addAll(layers.subList(1, layers.size()));
    return chain;
  }

  private ContainerImage container(ContainerImageSource source) {
    var image = facts.containers().get(source.reference());
    if (image == null) {
      throw new IllegalArgumentException("the facts do not say what " + source.reference() + " is");
    }
    return image;
  }

  private @Nullable Seed runSeed() {
    return vm.bootDisk().source() instanceof ContainerImageSource source
        ? RunSeed.of(vm, vm.bootDisk().name(), source, container(source).run())
        : null;
  }

  private String digest(String reference) {
    var digest = facts.digests().get(reference);
    if (digest == null) {
      throw new IllegalArgumentException("the facts do not say what " + reference + " is");
    }
    return digest;
  }

  private Link base(String reference, String digest) {
    if (images.put(reference, digest) == null) {
      steps.add(new Step.EnsureImage(reference, digest));
    }
    return Link.ofFile(facts.layout().base(digest).toString(), DiskFormat.RAW);
  }

  /** The disk was made with the identity and stays with it, so there is nothing to make here. */
  private List<Link> identity(Identity identity) {
    var place = facts.identities().get(identity.key());
    if (place == null) {
      throw new IllegalArgumentException("the facts do not say where " + identity.key() + " is");
    }
    var disk = Link.ofFile(place.file(), DiskFormat.QCOW2);
    var base = place.digest() == null ? null : base(identity.spec().image(), place.digest());
    pools.put(place.pool(), String.valueOf(Path.of(place.file()).getParent()));
    var use = new Step.UseIdentity(identity.key(), place.file());
    steps.add(new Step.TakeLease(use.source(), Access.WRITE_EXCLUSIVE, Step.Life.RUN));
    steps.add(use);
    return base == null ? List.of(disk) : List.of(disk, base);
  }

  /**
   * A kept overlay depends on the bytes below it while its VM is stopped, so its lease lasts as
   * long. The file is checked as late as can be, right before QEMU opens it.
   */
  private List<Link> file(Disk disk, FileSource file) {
    var source = new SourceName("file:" + file.path(), List.of());
    var link = Link.ofFile(file.path(), file.format());
    if (disk.copy().mode() == CopyMode.CLONE) {
      return local(disk, link, source);
    }
    steps.add(new Step.TakeLease(source, disk.access(), life(disk)));
    checks.add(new Step.CheckFile(file.path(), file.format()));
    return local(disk, link, null);
  }

  /** Checked before all else: a name that nobody may use is not even looked at. */
  private List<Link> device(Disk disk, DeviceSource device) {
    var source = new SourceName("device:" + device.path(), List.of());
    var link = Link.ofDevice(device.path());
    var check = Step.CheckClaim.of(device);
    steps.add(check);
    if (disk.copy().mode() == CopyMode.CLONE) {
      return local(disk, link, source);
    }
    steps.add(new Step.TakeLease(source, disk.access(), life(disk)));
    fill(disk, check);
    return local(disk, link, null);
  }

  /** Made before it is leased, since a lease is on a file and not on a name; changed only after. */
  private List<Link> diskImg(Disk disk, DiskImgSource img) {
    var root = Path.of(img.root());
    var check = Step.CheckClaim.of(disk, img);
    var size = check.size();
    if (size != null) {
      var unfinished = StateLayout.unfinishedDiskImg(root, vm.uuid(), disk.name());
      steps.add(new Step.MakeDiskImg(img.root(), unfinished.toString(), size));
    }
    var file = StateLayout.diskImg(root).toString();
    var source = new SourceName("file:" + file, List.of());
    var link = Link.ofFile(file, DiskFormat.RAW);
    if (disk.copy().mode() == CopyMode.CLONE) {
      steps.add(check);
      return local(disk, link, source);
    }
    steps.add(new Step.TakeLease(source, disk.access(), life(disk)));
    steps.add(check);
    fill(disk, check);
    return local(disk, link, null);
  }

  /** The image is needed for as long as it is copied, so it is none of the VM's images. */
  private void fill(Disk disk, Step.CheckClaim check) {
    var fill = disk.fill();
    if (fill != null) {
      steps.add(
          new Step.FillClaim(
              fill.claim(), fill.image(), digest(fill.image()), fill.refill(), check));
    }
  }

  /** Used as it is, under an overlay, or copied. */
  private List<Link> local(Disk disk, Link source, @Nullable SourceName lease) {
    var size = disk.size() == null ? null : disk.size().bytes();
    return switch (disk.copy().mode()) {
      case NONE -> List.of(source);
      case COPY_ON_WRITE, COPY_ON_READ -> {
        var overlay = poolFile(disk, "qcow2");
        var larger = (size != null && disk.orLarger()) ? Boolean.TRUE : null;
        steps.add(new Step.CreateOverlay(overlay, source, size, larger, files(disk), life(disk)));
        yield List.of(Link.ofFile(overlay, DiskFormat.QCOW2), source);
      }
      case CLONE -> {
        var clone = poolFile(disk, "raw");
        steps.add(new Step.CloneDisk(clone, source, lease, size, life(disk)));
        yield List.of(Link.ofFile(clone, DiskFormat.RAW));
      }
    };
  }

  /** The root disk of a guest without cloud-init has its files from the beginning. */
  private @Nullable List<String> files(Disk disk) {
    var files = vm.inside().rootFiles();
    return files.isEmpty() || !disk.equals(vm.bootDisk())
        ? null
        : files.stream().map(GuestFile::path).toList();
  }

  private List<Link> blank(Disk disk) {
    var size = disk.size();
    if (size == null) {
      throw new IllegalArgumentException("a blank disk without a size passed validation");
    }
    var path = poolFile(disk, "raw");
    steps.add(new Step.CreateBlank(path, size.bytes(), life(disk)));
    return List.of(Link.ofFile(path, DiskFormat.RAW));
  }

  /** A name without a suffix is what those who look into the pool know it by. */
  private List<Link> fresh(Disk disk, VolumeSource volume) {
    var size = disk.size();
    if (size == null) {
      throw new IllegalArgumentException("a new volume without a size passed validation");
    }
    var path = poolDirectory(disk).resolve(vm.uuid() + "-" + volume.volume()).toString();
    steps.add(new Step.CreateVolume(path, size.bytes(), life(disk)));
    return List.of(Link.ofFile(path, DiskFormat.QCOW2));
  }

  /** The password goes to libvirt only where QEMU itself logs in. */
  private List<Link> network(Disk disk, NetworkDisk network) {
    var link = Link.ofNetwork(network);
    if (disk.copy().mode() == CopyMode.CLONE) {
      return local(disk, link, network.sourceName());
    }
    steps.add(new Step.TakeLease(network.sourceName(), disk.access(), life(disk)));
    var login = network.login();
    if (login != null) {
      steps.add(
          new Step.DefineSecret(
              login.secret(),
              network.protocol(),
              DomainXml.domainName(vm) + "/" + disk.name(),
              login.from()));
    }
    return local(disk, link, null);
  }

  /** What QEMU cannot open it reads through the daemon; a copy we make ourselves. */
  private List<Link> web(Disk disk, NetworkDisk from) {
    if (from.web() == null || disk.copy().mode() == CopyMode.CLONE) {
      return network(disk, from);
    }
    var export = "web-" + vm.uuid() + "-" + disk.name();
    steps.add(new Step.TakeLease(from.sourceName(), disk.access(), life(disk)));
    steps.add(new Step.ServeWeb(export, from));
    return local(disk, Link.ofNetwork(NetworkDisk.served(export, facts.layout())), null);
  }

  private UUID secret(Disk disk) {
    return Uuids.version5(vm.uuid(), "secret of disk " + disk.name());
  }

  private PlannedDisk seedDisk(String path) {
    var target = vm.seedTarget();
    return new PlannedDisk(
        Vm.SEED_DISK,
        target.device(),
        target.bus(),
        target.position(),
        true,
        false,
        false,
        false,
        true,
        Vm.SEED_DISK,
        List.of(Link.ofFile(path, DiskFormat.RAW)));
  }

  private String poolFile(Disk disk, String suffix) {
    return poolDirectory(disk)
        .resolve(StateLayout.diskFile(vm.uuid(), disk.name(), suffix))
        .toString();
  }

  private Path poolDirectory(Disk disk) {
    var usageType = disk.copy().usageType();
    var pool = usageType == null ? Pool.DEFAULT : usageType;
    var directory = facts.pools().get(pool);
    if (directory == null) {
      throw PlatterException.of(
          PlatterException.Code.INVALID,
          "disk "
              + disk.name()
              + ": this machine has no pool for the usage-type "
              + pool
              + "; it has "
              + String.join(", ", new TreeSet<>(facts.pools().keySet())),
          "Use one of these, or name a directory for it, as "
              + Pool.USAGE_TYPE
              + pool
              + ", in the node's configuration (see docs/disks.md).");
    }
    pools.put(pool, directory);
    return Path.of(directory);
  }

  private static Step.Life life(Disk disk) {
    return disk.keep() ? Step.Life.VM : Step.Life.RUN;
  }
}
