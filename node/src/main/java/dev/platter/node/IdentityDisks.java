package dev.platter.node;

import dev.platter.model.Identities;
import dev.platter.model.Identity;
import dev.platter.model.IdentityKey;
import dev.platter.model.IdentitySource;
import dev.platter.model.IdentitySpec;
import dev.platter.model.ImageLogins;
import dev.platter.model.PlatterException;
import dev.platter.model.PlatterException.Code;
import dev.platter.model.Pool;
import dev.platter.model.Vm;
import dev.platter.node.IdentityRecords.Stage;
import dev.platter.node.durable.Durable;
import dev.platter.node.durable.FileMutex;
import dev.platter.node.image.Images;
import dev.platter.plan.IdentityPlan;
import dev.platter.plan.NodeFacts.IdentityPlace;
import dev.platter.plan.StateLayout;
import dev.platter.plan.Step;
import dev.platter.plan.VmKey;
import java.io.IOException;
import java.nio.file.Files;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executor;
import java.util.function.Function;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * The disks of identities on this machine. A disk is an overlay on the base of its image, made with
 * the identity and removed with it; VMs use it in place, one at a time, and leave it. One that came
 * from another node when the image was not to be had is whole, and lies on nothing.
 *
 * <p>One lock is held while disks are made or removed, but never while an image is fetched.
 */
public final class IdentityDisks {
  private static final Duration PATIENCE = Duration.ofMinutes(1);

  private final StateLayout layout;
  private final StepRunner runner;
  private final Images images;
  private final Pools pools;
  private final Machine machine;
  private final Progress progress;
  private final IdentityRecords records;
  private final PoolMoves poolMoves;
  private final Executor workers = IdentityMaker.workers();

  /** What images with a digest are that need no login; that never changes. */
  private final Map<String, String> digests = new ConcurrentHashMap<>();

  IdentityDisks(
      StateLayout layout,
      StepRunner runner,
      Images images,
      Pools pools,
      Machine machine,
      Progress progress) {
    this.layout = layout;
    this.runner = runner;
    this.images = images;
    this.pools = pools;
    this.machine = machine;
    this.progress = progress;
    this.records = new IdentityRecords(layout);
    this.poolMoves = new PoolMoves(layout, this, runner, pools, machine, progress);
  }

  /** What became of one of several identities. */
  public sealed interface Outcome {
    Identity identity();

    /** Its disk is there. */
    record Ready(IdentityDisk disk) implements Outcome {
      @Override
      public Identity identity() {
        return disk.identity();
      }
    }

    /** Nothing is left of it; the others are not concerned. */
    record Failed(Identity identity, PlatterException why) implements Outcome {}
  }

  /** Makes the disk, if it is not there: then nothing happens. */
  public IdentityDisk ensure(Identity identity) throws IOException {
    return switch (ensure(List.of(identity)).getFirst()) {
      case Outcome.Ready ready -> ready.disk();
      case Outcome.Failed failed -> throw failed.why();
    };
  }

  /** Makes the disks of the identities that a VM uses. */
  public void ensure(Vm vm) throws IOException {
    for (var disk : vm.disks()) {
      if (disk.source() instanceof IdentitySource source) {
        ensure(source.identity());
      }
    }
  }

  /**
   * As for one identity, for many at once.
   *
   * @param wanted of different names
   * @return what became of each, in this order
   */
  public List<Outcome> ensure(List<Identity> wanted) throws IOException {
    return ensure(wanted, ImageLogins.NONE);
  }

  /**
   * The same, for people who may have to log in for their images: then the registry is asked
   * whether these may have them, whoever else had them here before.
   */
  public List<Outcome> ensure(List<Identity> wanted, ImageLogins logins) throws IOException {
    var resolved = resolved(logins);
    var outcomes = new LinkedHashMap<IdentityKey, Outcome>();
    var missing = new LinkedHashMap<IdentityKey, IdentityDisk>();
    var here = new HashSet<String>();
    var refused = new HashMap<String, PlatterException>();
    for (var identity : wanted) {
      try {
        refuseElsewhere(identity);
        var found = find(identity);
        if (found.isPresent()) {
          outcomes.put(identity.key(), new Outcome.Ready(found.get()));
          continue;
        }
        var digest = here(identity.spec().image(), logins, resolved, here, refused);
        var disk = placed(identity, digest);
        outcomes.put(identity.key(), new Outcome.Ready(disk));
        missing.put(identity.key(), disk);
      } catch (PlatterException e) {
        outcomes.put(identity.key(), new Outcome.Failed(identity, e));
      }
    }
    if (!missing.isEmpty()) {
      make(missing, logins, outcomes);
    }
    return List.copyOf(outcomes.values());
  }

  /** The digest of an image that is here now, or on its way; each is asked for once. */
  private String here(
      String image,
      ImageLogins logins,
      Map<String, String> resolved,
      Set<String> here,
      Map<String, PlatterException> refused)
      throws IOException {
    var before = refused.get(image);
    if (before != null) {
      throw before;
    }
    try {
      var digest = digest(image, logins, resolved);
      if (here.add(digest)) {
        images.ensure(image, digest, logins, progress);
      }
      return digest;
    } catch (PlatterException e) {
      refused.put(image, e);
      throw e;
    }
  }

  /** Others may have made some of them by now. */
  private void make(
      Map<IdentityKey, IdentityDisk> missing,
      ImageLogins logins,
      Map<IdentityKey, Outcome> outcomes)
      throws IOException {
    try (var _ = lock()) {
      recover();
      for (var disk : List.copyOf(missing.values())) {
        var identity = disk.identity();
        try {
          var found = find(identity);
          if (found.isPresent()) {
            missing.remove(identity.key());
            outcomes.put(identity.key(), new Outcome.Ready(found.get()));
          }
        } catch (PlatterException e) {
          missing.remove(identity.key());
          outcomes.put(identity.key(), new Outcome.Failed(identity, e));
        }
      }
      outcomes.putAll(
          new IdentityMaker(layout, runner, progress, workers, machine.libvirt(), missing.values())
              .make(logins));
    }
  }

  private static void refuseElsewhere(Identity identity) {
    if (identity.spec().type() != IdentitySpec.Type.LOCAL) {
      throw PlatterException.of(
          Code.UNSUPPORTED,
          "the identity "
              + identity.key()
              + " is of the type PersistentVolume, which is no disk of a machine",
          "Use it on a cluster, or use the type Local.");
    }
  }

  /** The disk of this very identity, and not of another that had its name. */
  private Optional<IdentityDisk> find(Identity identity) throws IOException {
    var found = records.findWhole(identity.key());
    if (found.isPresent()) {
      refuseOther(identity, found.get().identity());
    }
    return found;
  }

  private static void refuseOther(Identity wanted, Identity found) {
    if (!Objects.equals(wanted.uid(), found.uid()) || !wanted.spec().equals(found.spec())) {
      throw PlatterException.of(
          Code.CONFLICT,
          "there is an identity " + wanted.key() + " already, and it is a different one",
          "An identity stays what it was made as: see 'platter identity describe %s'. Give this one another name, or remove that one with its disk: 'platter identity rm %s'."
              .formatted(wanted.key().name(), wanted.key().name()));
    }
  }

  IdentityDisk planned(Identity identity, ImageLogins logins) throws IOException {
    return placed(identity, digest(identity.spec().image(), logins, resolved(logins)));
  }

  /** Who logs in asks the registry, whatever it told others. */
  private Map<String, String> resolved(ImageLogins logins) {
    return logins.isEmpty() ? digests : new HashMap<>();
  }

  /**
   * @param digest of its image; null if the disk will be whole
   */
  IdentityDisk placed(Identity identity, @Nullable String digest) throws IOException {
    var now = Instant.now().truncatedTo(ChronoUnit.SECONDS);
    return new IdentityDisk(identity, newPlace(identity, digest), now);
  }

  private String digest(String image, ImageLogins logins, Map<String, String> resolved) {
    var digest = resolved.get(image);
    if (digest == null) {
      digest = images.resolve(image, logins, progress);
      resolved.put(image, digest);
    }
    return digest;
  }

  private IdentityPlace newPlace(Identity identity, @Nullable String digest) throws IOException {
    var directory = pools.directories().get(Pool.VOLUMES);
    return IdentityPlan.place(identity, digest, Pool.VOLUMES, String.valueOf(directory));
  }

  /** Where the disks of a VM's identities are, or would be made. */
  Map<IdentityKey, IdentityPlace> places(Vm vm) throws IOException {
    var out = new HashMap<IdentityKey, IdentityPlace>();
    for (var disk : vm.disks()) {
      if (disk.source() instanceof IdentitySource source) {
        var identity = source.identity();
        refuseElsewhere(identity);
        var found = find(identity);
        out.put(
            identity.key(),
            found.isPresent()
                ? found.get().place()
                : newPlace(identity, digest(identity.spec().image(), ImageLogins.NONE, digests)));
      }
    }
    return out;
  }

  /** An identity whose disk is here. */
  public Optional<IdentityDisk> find(IdentityKey key) throws IOException {
    return records.findWhole(key);
  }

  /** Whether a VM can have its disk: it is here, and does not leave. */
  public boolean isUsable(IdentityKey key) throws IOException {
    return records.find(key).isPresent();
  }

  /** Whether there is a record that says so, whatever else it says. */
  public boolean isReady(IdentityKey key) {
    return Files.exists(layout.identity(key, Stage.READY.word()));
  }

  /** The identities whose disks are here. */
  public List<IdentityDisk> list() throws IOException {
    return records.list();
  }

  /** The same, as pods refer to them. */
  public Identities known() throws IOException {
    return new Identities(
        Map.of(),
        list().stream()
            .map(IdentityDisk::identity)
            .collect(Collectors.toMap(Identity::key, Function.identity())));
  }

  /** The VMs that have its disk, running or not. */
  public List<VmKey> users(IdentityKey key) throws IOException {
    var out = new ArrayList<VmKey>();
    for (var vm : VmRecord.keys(layout)) {
      var record = VmRecord.find(layout, vm);
      if (record.isPresent()
          && record.get().plan().steps().stream()
              .anyMatch(
                  step -> step instanceof Step.UseIdentity use && use.identity().equals(key))) {
        out.add(vm);
      }
    }
    return out;
  }

  /** Removes the identity with its disk, unless a VM has it; false if there is none. */
  public boolean remove(IdentityKey key) throws IOException {
    try (var _ = lock()) {
      recover();
      if (records.findWhole(key).isEmpty()) {
        return false;
      }
      refuseUsed(key);
      if (records.find(key, Stage.COMING).isPresent()) {
        throw PlatterException.of(
            Code.CONFLICT,
            "the disk of the identity " + key + " is on its way to another pool",
            "Remove it when it is there.");
      }
      remove(key, records.find(key).isPresent() ? Stage.READY : Stage.LEAVING);
      return true;
    }
  }

  void refuseUsed(IdentityKey key) throws IOException {
    var users = users(key);
    if (!users.isEmpty()) {
      throw PlatterException.of(
          Code.CONFLICT,
          "the identity " + key + " is in use by the VM " + users.getFirst(),
          "Remove the VM first: 'platter rm " + users.getFirst().name() + "'.");
    }
  }

  /** Moves its disk to another pool of this machine, unless a VM has it. */
  public IdentityDisk move(IdentityKey key, String pool) throws IOException {
    return poolMoves.move(key, pool);
  }

  /** For who asked for an identity that is not here. */
  public static PlatterException missing(IdentityKey key) {
    return PlatterException.of(
        Code.NOT_FOUND, "there is no identity " + key, "'platter identity ls' lists them.");
  }

  /** The lock is held. */
  void remove(IdentityKey key, Stage stage) throws IOException {
    var found = records.find(key, stage);
    if (found.isPresent()) {
      records.makeDirectories();
      records.move(key, stage, Stage.REMOVING);
      records.sync(Stage.REMOVING, stage);
      undo(found.get(), () -> records.delete(layout.identity(key, Stage.REMOVING.word())));
    }
  }

  /** Finishes what dead processes left, unless somebody works on identities just now. */
  void tidy() throws IOException {
    var mutex = FileMutex.tryTake(layout.identitiesLock());
    if (mutex.isPresent()) {
      try (var _ = mutex.get()) {
        recover();
      }
    }
  }

  void recover() throws IOException {
    for (var record : records.files(Stage.MAKING)) {
      for (var disk : records.unmade(record)) {
        undo(disk, () -> {});
      }
      records.delete(record);
    }
    for (var record : records.files(Stage.REMOVING)) {
      var disk = records.removed(record);
      if (disk.isPresent()) {
        undo(disk.get(), () -> records.delete(record));
      } else {
        records.delete(record);
      }
    }
    poolMoves.recover();
  }

  private interface Forgetting {
    void run() throws IOException;
  }

  private void undo(IdentityDisk disk, Forgetting forgetting) throws IOException {
    var step = IdentityPlan.overlay(disk.identity(), disk.place(), layout);
    progress.beforeUndo(step);
    Durable.delete(disk.file());
    forgetting.run();
    progress.afterUndo(step);
    var directory = Durable.parent(disk.file()).toString();
    machine.hypervisor(machine.libvirt()).poolChanged(disk.place().pool(), directory);
  }

  FileMutex lock() throws IOException {
    return FileMutex.take(layout.identitiesLock(), "the identities", PATIENCE);
  }
}
