package dev.platter.node;

import dev.platter.model.ImageSource;
import dev.platter.model.PlatterException;
import dev.platter.model.PlatterException.Code;
import dev.platter.model.Vm;
import dev.platter.plan.NodeFacts;
import dev.platter.plan.PlanJson;
import dev.platter.plan.Planned;
import dev.platter.plan.Planner;
import dev.platter.plan.StateLayout;
import java.io.IOException;
import java.nio.file.Files;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/** One machine that runs VMs: the way in for the command line and, later, for the daemon. */
public final class Node implements AutoCloseable {
  private final StateLayout layout;
  private final Machine machine;
  private final Progress progress;
  private final LocalDisks disks;
  private final ImageStore images;

  public Node(StateLayout layout, Machine machine, ImageSources sources, Progress progress) {
    this.layout = layout;
    this.machine = machine;
    this.progress = progress;
    this.disks = new LocalDisks(progress);
    this.images = new ImageStore(layout, sources, disks, progress);
  }

  /** Finishes what earlier commands left half done, and takes down VMs whose guest has ended. */
  public void tidy() throws IOException {
    Durable.makeDirectories(layout.state());
    var executor = executor(Shutdown.AT_ONCE);
    executor.recoverAll();
    for (var record : VmRecord.list(layout)) {
      if (record.state(layout).up() && record.state(layout).open() == null && gone(record)) {
        executor.stop(record);
      }
    }
  }

  private boolean gone(VmRecord record) {
    return machine.hypervisor().state(record.plan().uuid()) == Hypervisor.DomainState.GONE;
  }

  /**
   * What {@link #run} would do; nothing is changed. A VM that exists keeps the digests it was made
   * with.
   */
  public Planned plan(Vm vm) throws IOException {
    var known =
        VmRecord.find(layout, vm.namespace(), vm.name()).map(record -> record.plan().images());
    return Planner.plan(
        vm,
        new NodeFacts(
            layout,
            machine.accelerator(),
            machine.emulator(),
            digests(vm, known.orElse(Map.of()))));
  }

  private Map<String, String> digests(Vm vm, Map<String, String> known) {
    var out = new HashMap<String, String>();
    for (var disk : vm.disks()) {
      if (disk.source() instanceof ImageSource image && !out.containsKey(image.reference())) {
        var digest = known.get(image.reference());
        out.put(image.reference(), digest == null ? images.resolve(image.reference()) : digest);
      }
    }
    return out;
  }

  /** Makes and starts the VM, or starts it again if it is there, stopped, and still the same. */
  public VmStatus run(Vm vm) throws IOException {
    var planned = plan(vm);
    var existing = VmRecord.find(layout, vm.namespace(), vm.name());
    if (existing.isEmpty()) {
      return status(executor(Shutdown.AT_ONCE).create(planned));
    }
    var same =
        PlanJson.write(existing.get().plan()).equals(PlanJson.write(planned.plan()))
            && existing.get().domainXml(layout).equals(planned.domainXml());
    if (!same) {
      throw PlatterException.of(
          Code.CONFLICT,
          "the VM " + vm.name() + " exists and was made from a different description",
          "Remove it first with 'platter rm "
              + vm.name()
              + "', or start it as it is with 'platter start "
              + vm.name()
              + "'.");
    }
    return start(vm.namespace(), vm.name());
  }

  public VmStatus start(String namespace, String name) throws IOException {
    var record = find(namespace, name);
    if (status(record).phase() != VmStatus.Phase.STOPPED) {
      throw PlatterException.of(
          Code.CONFLICT,
          "the VM " + name + " is running already",
          "See 'platter ps', or stop it first.");
    }
    executor(Shutdown.AT_ONCE).start(record);
    return status(record);
  }

  public void stop(String namespace, String name, Duration grace) throws IOException {
    executor(new Shutdown(grace)).stop(find(namespace, name));
  }

  /** Removes the VM with all its disks. */
  public void remove(String namespace, String name, boolean force) throws IOException {
    var record = find(namespace, name);
    if (!force && status(record).phase() != VmStatus.Phase.STOPPED) {
      throw PlatterException.of(
          Code.CONFLICT,
          "the VM " + name + " is running",
          "Stop it first with 'platter stop " + name + "', or use --force.");
    }
    executor(Shutdown.AT_ONCE).remove(record);
  }

  public List<VmStatus> list() throws IOException {
    var out = new ArrayList<VmStatus>();
    for (var record : VmRecord.list(layout)) {
      out.add(status(record));
    }
    return out;
  }

  public VmStatus status(String namespace, String name) throws IOException {
    return status(find(namespace, name));
  }

  private VmStatus status(VmRecord record) throws IOException {
    var state = record.state(layout);
    var phase =
        state.open() != null
            ? VmStatus.Phase.CHANGING
            : !state.up()
                ? VmStatus.Phase.STOPPED
                : switch (machine.hypervisor().state(record.plan().uuid())) {
                  case RUNNING -> VmStatus.Phase.RUNNING;
                  case PAUSED -> VmStatus.Phase.PAUSED;
                  case GONE -> VmStatus.Phase.STOPPED;
                };
    return new VmStatus(
        record.plan(),
        phase,
        layout.consoleLog(record.directory()),
        layout.consoleSocket(record.plan().uuid()));
  }

  private VmRecord find(String namespace, String name) throws IOException {
    Optional<VmRecord> record = VmRecord.find(layout, namespace, name);
    return record.orElseThrow(
        () ->
            PlatterException.of(
                Code.NOT_FOUND,
                "there is no VM " + namespace + "/" + name,
                "'platter ps --all' lists the VMs."));
  }

  public ImageStore images() {
    return images;
  }

  /** The digest of the image, whose base is here afterwards. */
  public String pull(String reference) throws IOException {
    var digest = images.resolve(reference);
    images.ensure(reference, digest);
    return digest;
  }

  /** Removes images that no VM uses. */
  public List<ImageStore.Image> collect() throws IOException {
    return images.collect(this::digestsInUse);
  }

  private Set<String> digestsInUse() {
    try {
      var used = new HashSet<String>();
      for (var record : VmRecord.list(layout)) {
        used.addAll(record.plan().images().values());
      }
      return used;
    } catch (IOException e) {
      throw new java.io.UncheckedIOException(e);
    }
  }

  public StateLayout layout() {
    return layout;
  }

  private Executor executor(Shutdown shutdown) {
    var runner =
        new StepRunner(
            layout,
            images,
            new Leases(layout.leases(), this::vmExists),
            disks,
            machine.hypervisor(),
            shutdown);
    return new Executor(layout, runner, progress);
  }

  private boolean vmExists(String key) {
    return Files.isRegularFile(layout.plan(layout.vms().resolve(key)));
  }

  @Override
  public void close() {
    machine.close();
  }
}
