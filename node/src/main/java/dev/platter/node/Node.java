package dev.platter.node;

import dev.platter.dialect.Objects;
import dev.platter.model.ImageLogins;
import dev.platter.model.PlatterException;
import dev.platter.model.PlatterException.Code;
import dev.platter.model.SecretData;
import dev.platter.model.Vm;
import dev.platter.node.durable.Durable;
import dev.platter.node.image.ContainerImages;
import dev.platter.node.image.ImageRecord;
import dev.platter.node.image.Images;
import dev.platter.node.image.LayerMaker;
import dev.platter.node.volumes.DrawnFiles;
import dev.platter.plan.Planned;
import dev.platter.plan.StateLayout;
import dev.platter.plan.VmKey;
import java.io.IOException;
import java.nio.file.Files;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.OptionalLong;
import java.util.function.Consumer;

/** One machine that runs VMs: the way in for the command line and, later, for the daemon. */
public final class Node implements AutoCloseable {
  private final StateLayout layout;
  private final Machine machine;
  private final Progress progress;
  private final Images images;
  private final ContainerImages containers;
  private final Pools pools;
  private final Executor executor;
  private final IdentityDisks identities;
  private final IdentityMoves moves;
  private final LocalDisks disks;
  private final Planning planning;
  private final ServerNames names;
  private final VmStatuses statuses;
  private final GuestWatch watch;

  /** With the default pool and the usual raw devices. */
  public Node(StateLayout layout, Machine machine, Images images, Progress progress) {
    this(
        layout,
        machine,
        images,
        new ContainerImages(
            layout,
            LocalNode.sources(new NodeConfig(layout, Optional.empty(), Optional.empty())),
            LayerMaker.HERE),
        new Pools(layout, Optional.empty()),
        RawDevices.DEFAULT,
        Optional.empty(),
        new LocalDeviceRecords(layout),
        Whereabouts.NONE,
        progress);
  }

  Node(
      StateLayout layout,
      Machine machine,
      Images images,
      ContainerImages containers,
      Pools pools,
      RawDevices rawDevices,
      Optional<DrawnFiles> drawn,
      DeviceRecords records,
      Whereabouts whereabouts,
      Progress progress) {
    this.layout = layout;
    this.machine = machine;
    this.progress = progress;
    this.disks = new LocalDisks(rawDevices, drawn, progress);
    this.statuses = new VmStatuses(layout, machine, this::warn);
    this.images = images;
    this.watch = new GuestWatch(layout, machine, images, statuses, this::warn);
    this.containers = containers;
    this.pools = pools;
    var fill = new ClaimFill(layout, images, disks, records, progress);
    this.names = machine.isolated() ? ServerNames.ofOthers() : ServerNames.AS_WRITTEN;
    var runner =
        new StepRunner(
            layout,
            images,
            containers,
            new Leases(layout, this::exists),
            disks,
            new Masters(disks, new NetworkReader(layout, names, progress)),
            fill,
            new DynamicVolumes(progress),
            pools,
            machine,
            names,
            progress);
    this.executor = new Executor(layout, runner, LocalNode::peer, whereabouts, progress);
    this.identities = new IdentityDisks(layout, runner, images, pools, machine, progress);
    this.moves = new IdentityMoves(layout, identities, runner, images, pools, machine, progress);
    var digests = new ImageDigests(images, fill, progress);
    this.planning = new Planning(layout, machine, digests, containers, pools, identities);
  }

  private boolean exists(VmKey key) {
    return Files.isRegularFile(layout.plan(layout.vm(key)));
  }

  /** Finishes what earlier commands left half done, and takes down VMs whose guest has ended. */
  public void tidy() throws IOException {
    Durable.makeDirectories(layout.state());
    RunDirectory.ensure(layout.run());
    identities.tidy();
    executor.tidy(this::warn);
    watch.goOn();
    trimConsoles();
  }

  /** Keeps what guests have written to their consoles from filling the disk. */
  public void trimConsoles() throws IOException {
    for (var key : VmRecord.keys(layout)) {
      ConsoleRoom.trim(layout.consoleLog(layout.vm(key)));
    }
  }

  private VmStatus watched(VmKey key) throws IOException {
    var status = status(key);
    watch.begin(status);
    return status;
  }

  private void warn(PlatterException e) {
    progress.warning(e.getMessage() + (e.next().isEmpty() ? "" : " (" + e.next() + ")"));
  }

  /**
   * What {@link #run} would do; nothing is changed. A VM that exists keeps what it was made with.
   */
  public Planned plan(Vm vm) throws IOException {
    return plan(vm, Objects.NONE);
  }

  /**
   * @param given what the VM refers to
   */
  public Planned plan(Vm vm, Objects given) throws IOException {
    return planning.plan(vm, given);
  }

  /**
   * What a VM that comes from another node of a cluster has to be here.
   *
   * @param images its references to the digests that they mean for its life, as that node says
   */
  public Planned planArriving(Vm vm, Objects given, Map<String, String> images) throws IOException {
    return planning.plan(vm, given, images);
  }

  private static VmKey key(Vm vm) {
    return new VmKey(vm.namespace(), vm.name());
  }

  /** Makes and starts the VM, or starts it again if it is there, stopped, and still the same. */
  public VmStatus run(Vm vm) throws IOException {
    return run(vm, Objects.NONE);
  }

  /**
   * @param given what the VM refers to: claims, volumes and the values of Secrets
   */
  public VmStatus run(Vm vm, Objects given) throws IOException {
    return exists(key(vm)) ? runAgain(vm, given) : create(vm, given, plan(vm, given));
  }

  /**
   * The same for who has just asked for the plan: a registry that it names is not asked again.
   *
   * @param planned by {@link #plan} from the same, with nothing done to the VM since
   */
  public VmStatus run(Vm vm, Objects given, Planned planned) throws IOException {
    return exists(key(vm)) ? runAgain(vm, given) : create(vm, given, planned);
  }

  private VmStatus runAgain(Vm vm, Objects given) throws IOException {
    executor.start(
        key(vm),
        given.secrets(),
        record -> refuseOther(record, planning.plan(vm, given, Optional.of(record.plan()))));
    return watched(key(vm));
  }

  private VmStatus create(Vm vm, Objects given, Planned planned) throws IOException {
    executor.create(
        planned, given.secrets(), begun -> planning.plan(vm, given, Optional.of(begun)));
    return watched(key(vm));
  }

  private void refuseOther(VmRecord record, Planned planned) throws IOException {
    var seed = planned.seed();
    var seedFile = layout.seed(record.directory());
    var sameSeed =
        seed == null
            ? !Files.exists(seedFile)
            : Files.exists(seedFile)
                && Arrays.equals(Files.readAllBytes(seedFile), SeedImage.bytes(seed));
    if (!sameSeed
        || !record.plan().equals(planned.plan())
        || !record.domainXml(layout).equals(planned.domainXml())) {
      var name = record.plan().name();
      throw PlatterException.of(
          Code.CONFLICT,
          "the VM " + name + " exists and was made from a different description",
          "Remove it first with 'platter rm "
              + name
              + "', or start it as it is with 'platter start "
              + name
              + "'.");
    }
  }

  public VmStatus start(VmKey key) throws IOException {
    return start(key, SecretData.NONE);
  }

  public VmStatus start(VmKey key, SecretData secrets) throws IOException {
    executor.start(key, secrets, _ -> {});
    return watched(key);
  }

  public void stop(VmKey key, Duration grace) throws IOException {
    executor.stop(key, new Shutdown(grace));
  }

  /**
   * Moves a running VM to another node of this machine. If it fails, or is cancelled, the VM runs
   * on here.
   *
   * @param secrets what its disks on servers need, since no node gives away what it was given
   * @param perGib how long each GiB of its memory and of the disks that are copied may take
   */
  public Migrated migrate(VmKey key, Node to, SecretData secrets, Duration perGib)
      throws IOException {
    var migrated = executor.migrate(key, to.destination(perGib), secrets);
    to.watched(key);
    return migrated;
  }

  /**
   * Moves a running VM to another node of a cluster. If it fails, or is cancelled, the VM runs on
   * here.
   */
  public Migrated migrate(VmKey key, Journey to) throws IOException {
    try (var destination = RemoteDestination.open(to, key)) {
      return migrate(key, destination);
    }
  }

  Migrated migrate(VmKey key, Destination to) throws IOException {
    return executor.migrate(key, to, SecretData.NONE);
  }

  /** Takes in VMs that come from other nodes of a cluster. */
  public GuestArrivals arrivals(GuestArrivals.Host host, Consumer<String> log) {
    return new GuestArrivals(layout, machine, pools, names, executor, host, log);
  }

  /** VMs of which a move to or from another node has not come to its end. */
  public List<VmKey> unsettled() throws IOException {
    return executor.unsettled();
  }

  private Destination destination(Duration perGib) {
    return new LocalDestination(layout, machine, pools, executor, perGib);
  }

  /** Finishes what dead processes left of a VM. */
  void settle(VmKey key) throws IOException {
    executor.settled(key);
  }

  /** The same, unless somebody works on the VM; what cannot be finished is told. */
  public void settleIfIdle(VmKey key, Consumer<PlatterException> broken) throws IOException {
    executor.tidy(key, broken);
  }

  /** Removes the VM with all its disks. */
  public void remove(VmKey key, boolean force) throws IOException {
    executor.remove(key, force);
  }

  /** The identities whose disks are on this machine. */
  public IdentityDisks identities() {
    return identities;
  }

  /** The way of identities' disks to other machines, and from there. */
  public IdentityMoves moves() {
    return moves;
  }

  /**
   * The image of a VM's boot disk and the devices beside it, for who does not run the VM but writes
   * the one to the other.
   */
  public ImageFill fill(Vm vm, Objects given) throws IOException {
    return new ImageFill(
        layout, images, disks, plan(vm, given).plan(), given.secrets().logins(), progress);
  }

  /** The disks of a VM that runs, to be changed. */
  public VmDisks disks(VmKey key) {
    return new VmDisks(layout, executor, planning, images, progress, key, () -> watched(key));
  }

  public List<VmStatus> list() throws IOException {
    var vms = statuses.list();
    watch.goOnWith(vms);
    return vms;
  }

  /** Why a VM stands still, if it is paused since disks failed. Waits a moment for QEMU. */
  public Optional<Stall> stall(VmStatus vm) {
    return statuses.stall(vm);
  }

  public VmStatus status(VmKey key) throws IOException {
    return statuses.of(key);
  }

  /** The process of a VM that runs. */
  public OptionalLong process(VmKey key) throws IOException {
    return statuses.process(key);
  }

  /** How the program of a container image ended, if the guest said so. */
  public OptionalInt exit(VmKey key) throws IOException {
    return ExitFile.read(layout.exit(layout.vm(key)));
  }

  /** The pools and what is in them. libvirt looks again at those that VMs use. */
  public List<PoolStatus> pools() throws IOException {
    for (var record : VmRecord.list(layout, this::warn)) {
      var plan = record.plan();
      plan.pools().forEach(machine.hypervisor(plan.libvirt())::poolChanged);
    }
    return pools.status();
  }

  public Images images() {
    return images;
  }

  /** The digest of the image, whose base is here afterwards. */
  public String pull(String reference) throws IOException {
    var digest = images.resolve(reference, ImageLogins.NONE, progress);
    images.complete(reference, digest, progress);
    return digest;
  }

  /** Removes images that no VM uses, and layers of those that VMs ran. */
  public List<ImageRecord> collect() throws IOException {
    containers.collect(new VmImages(layout, VmSecrets.NONE)::layers);
    return images.collect();
  }

  public StateLayout layout() {
    return layout;
  }

  @Override
  public void close() {
    images.close();
    machine.close();
  }
}
