package dev.platter.node;

import dev.platter.image.raw.SparseFile;
import dev.platter.model.Access;
import dev.platter.model.PlatterException;
import dev.platter.model.PlatterException.Code;
import dev.platter.model.SecretData;
import dev.platter.node.durable.Durable;
import dev.platter.node.image.ContainerImages;
import dev.platter.node.image.Images;
import dev.platter.plan.NetworkDisk;
import dev.platter.plan.Plan;
import dev.platter.plan.Seed;
import dev.platter.plan.SourceName;
import dev.platter.plan.StateLayout;
import dev.platter.plan.Step;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Does and undoes single steps. A step that fails leaves nothing behind; undoing a step that was
 * not done, or was undone already, changes nothing.
 */
final class StepRunner {
  private final StateLayout layout;
  private final Images images;
  private final ContainerImages containers;
  private final Leases leases;
  private final LocalDisks disks;
  private final Clones clones;
  private final Overlays overlays;
  private final DynamicVolumes volumes;
  private final Pools pools;
  private final Machine machine;
  private final ServerNames names;
  private final Progress progress;
  private final WebDisks webDisks;
  private final ServedBases bases;
  private final ClaimFill fill;

  StepRunner(
      StateLayout layout,
      Images images,
      ContainerImages containers,
      Leases leases,
      LocalDisks disks,
      Masters masters,
      ClaimFill fill,
      DynamicVolumes volumes,
      Pools pools,
      Machine machine,
      ServerNames names,
      Progress progress) {
    this.layout = layout;
    this.images = images;
    this.containers = containers;
    this.leases = leases;
    this.disks = disks;
    this.clones = new Clones(layout, images, leases, disks, masters, pools, progress);
    this.fill = fill;
    this.overlays = new Overlays(layout, images, masters);
    this.volumes = volumes;
    this.pools = pools;
    this.machine = machine;
    this.names = names;
    this.progress = progress;
    this.webDisks = new WebDisks(layout, images);
    this.bases = new ServedBases(layout, images);
  }

  /** Gives the daemon again what it keeps in memory only; false if it keeps nothing for this VM. */
  boolean serveAgain(VmRecord vm, SecretData secrets) throws IOException {
    return webDisks.serveAgain(vm, secrets);
  }

  void run(VmRecord vm, Step step, Given given, Pools.Reservation reservation) throws IOException {
    switch (step) {
      case Step.MakeVolume volume -> volumes.make(vm.plan(), volume);
      case Step.ServeVolume volume -> volumes.serve(vm.plan(), volume);
      case Step.MakeDirectory directory -> NewFile.create(directory.path(), Durable::makeDirectory);
      case Step.EnsureImage image ->
          images.ensure(image.reference(), image.digest(), given.secrets().logins(), progress);
      case Step.EnsureLayers layers ->
          containers.ensure(layers, given.secrets().logins(), progress);
      case Step.TakeLease lease -> leases.take(vm.plan().key(), lease.source(), lease.access());
      case Step.CheckFile file -> disks.check(Path.of(file.path()), file.format());
      case Step.CheckDevice device -> {
        disks.checkDevice(device);
        fill.refuseHalf(vm.plan(), device);
      }
      case Step.MakeDiskImg img -> DiskImg.make(img);
      case Step.CheckDiskImg img -> {
        DiskImg.check(img);
        fill.refuseHalf(vm.plan(), img);
      }
      case Step.FillClaim claim -> fill.run(claim, given.secrets().logins());
      case Step.DefineSecret secret -> define(vm.plan(), secret, given.secrets());
      case Step.ServeWeb web -> webDisks.serve(vm, web, given.secrets());
      case Step.CreateOverlay overlay ->
          NewFile.create(overlay.path(), overlays.overlay(vm.plan(), overlay, given)::write);
      case Step.CloneDisk clone -> clones.make(vm.plan(), clone, given.secrets(), reservation);
      case Step.CreateSnapshot snapshot ->
          NewFile.create(snapshot.path(), path -> Overlays.snapshot(snapshot, path));
      case Step.CreateVolume volume ->
          NewFile.create(volume.path(), path -> overlays.volume(vm.plan(), volume, path));
      case Step.CreateBlank blank ->
          NewFile.create(blank.path(), path -> SparseFile.create(path, blank.size()));
      case Step.WriteSeed write ->
          NewFile.create(write.path(), path -> writeSeed(path, given.seed()));
      case Step.UseIdentity use -> use(use);
      case Step.StartDomain _ -> {
        if (vm.plan().runs().isPresent()) {
          ExitFile.reset(layout.exit(vm.directory()));
        }
        start(vm);
      }
    }
  }

  /**
   * @param others the steps whose effect stays for now: it may be the same as this one's
   */
  void undo(Plan plan, Step step, Collection<Step> others) throws IOException {
    switch (step) {
      case Step.MakeVolume volume -> volumes.unmake(plan, volume);
      case Step.MakeDirectory directory -> Durable.deleteTree(Path.of(directory.path()));
      case Step.ServeVolume _,
          Step.EnsureImage _,
          Step.EnsureLayers _,
          Step.UseIdentity _,
          Step.CheckFile _,
          Step.CheckDevice _,
          Step.CheckDiskImg _,
          Step.FillClaim _ -> {}
      case Step.MakeDiskImg img -> DiskImg.unmake(img);
      case Step.TakeLease lease -> release(plan, lease.source(), lease.access(), others);
      case Step.DefineSecret secret -> hypervisor(plan).undefineSecret(secret.uuid());
      case Step.ServeWeb web -> webDisks.forget(web);
      case Step.CreateOverlay overlay -> Durable.delete(Path.of(overlay.path()));
      case Step.CreateSnapshot snapshot -> Durable.delete(Path.of(snapshot.path()));
      case Step.CreateVolume volume -> Durable.delete(Path.of(volume.path()));
      case Step.CloneDisk clone -> {
        Durable.delete(Path.of(clone.path()));
        if (clone.lease() != null) {
          release(plan, clone.lease(), Access.READ_SHARED, others);
        }
      }
      case Step.CreateBlank blank -> Durable.delete(Path.of(blank.path()));
      case Step.WriteSeed write -> Durable.delete(Path.of(write.path()));
      case Step.StartDomain domain -> hypervisor(plan).destroy(domain.uuid());
    }
  }

  /** Several disks of a VM may have the same source, and whether this one had it is not known. */
  private void release(Plan plan, SourceName source, Access access, Collection<Step> others)
      throws IOException {
    var uses =
        others.stream()
            .filter(
                step ->
                    step instanceof Step.TakeLease other
                        && other.source().equals(source)
                        && other.access() == access)
            .count();
    leases.releaseAllBut(uses, plan.key(), source, access);
  }

  /** Fails if what the step would make exists: it would not be ours. */
  void refuseForeign(Plan plan, Step step) {
    var exists =
        switch (step) {
          case Step.CreateOverlay overlay -> exists(overlay.path());
          case Step.CreateSnapshot snapshot -> exists(snapshot.path());
          case Step.CreateVolume volume -> exists(volume.path());
          case Step.CloneDisk clone -> exists(clone.path());
          case Step.CreateBlank blank -> exists(blank.path());
          case Step.WriteSeed write -> exists(write.path());
          case Step.MakeDirectory directory -> exists(directory.path());
          case Step.MakeVolume volume -> exists(volume.directory());
          case Step.StartDomain domain ->
              domainExists(plan) ? "libvirt domain " + domain.uuid() : null;
          case Step.MakeDiskImg img -> exists(img.unfinished());
          case Step.EnsureImage _,
              Step.EnsureLayers _,
              Step.UseIdentity _,
              Step.TakeLease _,
              Step.CheckFile _,
              Step.CheckDevice _,
              Step.CheckDiskImg _,
              Step.FillClaim _,
              Step.ServeVolume _,
              Step.DefineSecret _,
              Step.ServeWeb _ ->
              null;
        };
    if (exists != null) {
      throw NewFile.foreign(exists);
    }
  }

  private static @Nullable String exists(String path) {
    return Files.exists(Path.of(path), LinkOption.NOFOLLOW_LINKS) ? "file " + path : null;
  }

  /**
   * Makes sure of the pools of a plan before anything is made in them. They are everybody's, so
   * there is nothing to undo. A directory that is another pool's, or nobody's, by now still holds
   * the disks that were made there.
   */
  void preparePools(Plan plan, List<Step> steps) throws IOException {
    pools.refuseFull(steps);
    var configured = pools.directories();
    for (var pool : plan.pools().entrySet()) {
      var directory = Path.of(pool.getValue());
      if (directory.equals(layout.pool(pool.getKey()))) {
        Durable.makeDirectories(directory);
      } else if (!Files.isDirectory(directory)) {
        throw PlatterException.of(
            Code.UNAVAILABLE,
            directory + ", the directory of the pool " + pool.getKey() + ", is not there",
            "Mount it, or remove the VM.");
      }
      if (pool.getValue().equals(configured.get(pool.getKey()))) {
        hypervisor(plan).ensurePool(pool.getKey(), pool.getValue());
      }
    }
  }

  void poolsChanged(Plan plan) {
    plan.pools().forEach(hypervisor(plan)::poolChanged);
  }

  boolean domainExists(Plan plan) {
    return hypervisor(plan).state(plan.uuid()) != Hypervisor.DomainState.GONE;
  }

  boolean isRunning(Plan plan) {
    return hypervisor(plan).state(plan.uuid()) == Hypervisor.DomainState.RUNNING;
  }

  LiveDisks disks(Plan plan) {
    return hypervisor(plan).disks(plan.uuid());
  }

  /** The QEMUs of VMs that move. */
  MovingGuests moving() {
    return new MovingGuests(machine, bases);
  }

  /** Gives the guest time to power off. */
  void askToEnd(Plan plan, Shutdown shutdown) {
    shutdown.ask(hypervisor(plan), plan.uuid());
  }

  /** Ends the guest at once, if it runs. */
  void end(Plan plan) {
    hypervisor(plan).destroy(plan.uuid());
  }

  private Hypervisor hypervisor(Plan plan) {
    return machine.hypervisor(plan.libvirt());
  }

  /** An error may come after the domain has started, as when the connection to libvirt is lost. */
  private void start(VmRecord vm) throws IOException {
    try (var opened = opened(vm.plan(), vm.plan().steps(), disks::expectServed)) {
      var domain = names.pinned(vm.domainXml(layout), vm.plan());
      hypervisor(vm.plan()).start(domain, served(vm.plan()), opened.files());
    } catch (IOException | RuntimeException e) {
      try {
        hypervisor(vm.plan()).destroy(vm.plan().uuid());
      } catch (RuntimeException again) {
        e.addSuppressed(again);
      }
      throw e;
    }
  }

  /** What is under disks of a VM and has to be read through a server for now. */
  private List<ServedBase> served(Plan plan) throws IOException {
    var out = new ArrayList<>(bases.of(plan));
    for (var step : plan.steps()) {
      if (step instanceof Step.CheckDevice device && OpenDisks.opens(plan, List.of(step))) {
        disks.served(device).ifPresent(out::add);
      }
    }
    return out;
  }

  /** What QEMU must have open of what these steps of a plan checked. */
  OpenDisks opened(Plan plan, List<Step> steps) throws IOException {
    return opened(plan, steps, disks::expect);
  }

  private OpenDisks opened(Plan plan, List<Step> steps, OpenDisks.Devices devices)
      throws IOException {
    for (var step : steps) {
      // Looked at before the lease was taken; only since then does nobody fill it.
      if (step instanceof Step.CheckDevice device) {
        fill.refuseHalf(plan, device);
      }
    }
    return OpenDisks.of(plan, steps, devices);
  }

  private void use(Step.UseIdentity step) throws IOException {
    var disk = new IdentityRecords(layout).find(step.identity());
    if (disk.isEmpty()
        || !disk.get().place().file().equals(step.file())
        || !Files.isRegularFile(Path.of(step.file()), LinkOption.NOFOLLOW_LINKS)) {
      throw PlatterException.of(
          Code.NOT_FOUND,
          "the disk of the identity " + step.identity() + " is not at " + step.file(),
          "'platter identity ls' lists those that are here.");
    }
  }

  private void define(Plan plan, Step.DefineSecret step, SecretData secrets) throws IOException {
    var value = Secrets.password(step.protocol(), step.from(), secrets);
    try {
      hypervisor(plan)
          .defineSecret(step.uuid(), NetworkDisk.Login.type(step.protocol()), step.usage(), value);
    } finally {
      Arrays.fill(value, (byte) 0);
    }
  }

  /** Counts what a step is going to take of a pool that has a limit. */
  void reserve(Path file, long bytes, Pools.Reservation reservation) throws IOException {
    if (pools.isLimited(file)) {
      pools.reserve(file, bytes, reservation);
    }
  }

  private static void writeSeed(Path path, @Nullable Seed seed) throws IOException {
    if (seed == null) {
      throw new IllegalStateException("the content of " + path + " is not known any more");
    }
    Durable.write(path, SeedImage.bytes(seed));
  }
}
