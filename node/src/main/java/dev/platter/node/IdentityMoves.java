package dev.platter.node;

import dev.platter.model.Identity;
import dev.platter.model.IdentityKey;
import dev.platter.model.ImageLogins;
import dev.platter.model.PlatterException;
import dev.platter.model.PlatterException.Code;
import dev.platter.node.IdentityRecords.Stage;
import dev.platter.node.durable.Durable;
import dev.platter.node.image.Images;
import dev.platter.node.move.Credentials;
import dev.platter.node.move.MoveServer;
import dev.platter.node.move.MoveSource;
import dev.platter.plan.IdentityPlan;
import dev.platter.plan.StateLayout;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/**
 * The disks of identities that go to another machine or come from there. Which of two copies counts
 * is said by somebody else; what is kept here makes sure that his word is enough:
 *
 * <ul>
 *   <li>A disk that was lent once stays {@code LEAVING}, whatever becomes of this process: no VM
 *       can have it until {@link #keep} says that it stays here after all. The stage is changed
 *       first and VMs are looked for then, while a VM is recorded first and looks at the stage
 *       then; so one of the two sees the other.
 *   <li>A disk that comes is {@code COMING} until it was said to be here; then {@link #arrived}.
 *       What is there of it is compared with the source by whoever goes on, so nothing else is
 *       recorded.
 * </ul>
 */
public final class IdentityMoves {
  private final StateLayout layout;
  private final IdentityDisks disks;
  private final StepRunner runner;
  private final Images images;
  private final Pools pools;
  private final Machine machine;
  private final Progress progress;
  private final IdentityRecords records;
  private final Map<IdentityKey, Lent> loans = new ConcurrentHashMap<>();
  private final Set<IdentityKey> underWay = ConcurrentHashMap.newKeySet();
  private final MissingBases missing = new MissingBases();

  IdentityMoves(
      StateLayout layout,
      IdentityDisks disks,
      StepRunner runner,
      Images images,
      Pools pools,
      Machine machine,
      Progress progress) {
    this.layout = layout;
    this.disks = disks;
    this.runner = runner;
    this.images = images;
    this.pools = pools;
    this.machine = machine;
    this.progress = progress;
    this.records = new IdentityRecords(layout);
  }

  private static final class Lent implements MoveServer.Loan {
    private final Path file;
    private final @Nullable Path base;
    private volatile boolean ended;

    Lent(Path file, @Nullable Path base) {
      this.file = file;
      this.base = base;
    }

    @Override
    public Path file() {
      return file;
    }

    @Override
    public @Nullable Path base() {
      return base;
    }

    @Override
    public boolean lasts() {
      return !ended;
    }
  }

  /** Those whose disks are being brought here. */
  public List<IdentityDisk> coming() throws IOException {
    return records.list(Stage.COMING);
  }

  /** One of them, as far as it is there. */
  public Optional<IdentityDisk> coming(IdentityKey key) throws IOException {
    return records.find(key, Stage.COMING);
  }

  /** Those that were lent and not kept. */
  public Set<IdentityKey> leaving() throws IOException {
    var out = new HashSet<IdentityKey>();
    records.list(Stage.LEAVING).forEach(disk -> out.add(disk.identity().key()));
    return out;
  }

  /**
   * From now on no VM can have it; fails if one does.
   *
   * @param whole whether all has to be here that it lies on
   */
  public MoveServer.Loan lend(IdentityKey key, String uid, boolean whole) throws IOException {
    try (var _ = disks.lock()) {
      disks.recover();
      var disk =
          records
              .findWhole(key)
              .filter(found -> uid.equals(found.identity().uid()))
              .orElseThrow(
                  () ->
                      PlatterException.of(
                          Code.NOT_FOUND, "the disk of the identity " + key + " is not there", ""));
      if (whole) {
        refuseIncomplete(disk);
      }
      var wasReady = records.find(key).isPresent();
      if (wasReady) {
        change(key, Stage.READY, Stage.LEAVING);
      }
      var users = disks.users(key);
      if (!users.isEmpty()) {
        if (wasReady) {
          change(key, Stage.LEAVING, Stage.READY);
        }
        throw PlatterException.of(
            Code.CONFLICT,
            "the disk of the identity " + key + " is in use by the VM " + users.getFirst(),
            "It moves when that VM is gone.");
      }
      var base = Optional.ofNullable(disk.place().digest()).map(layout::base);
      return loans.computeIfAbsent(key, _ -> new Lent(disk.file(), base.orElse(null)));
    }
  }

  /** What is missing of a base was never verified, and only a registry has it. */
  private void refuseIncomplete(IdentityDisk disk) throws IOException {
    var digest = disk.place().digest();
    if (digest != null && !images.sealed(digest)) {
      throw PlatterException.of(
          Code.UNAVAILABLE,
          "the image " + disk.identity().spec().image() + " is not there in full",
          "It moves when the registry gives the image to one of the nodes.");
    }
  }

  private void change(IdentityKey key, Stage from, Stage to) throws IOException {
    records.makeDirectories();
    records.move(key, from, to);
    records.sync(to, from);
  }

  /** The disk stays here: a copy that somebody has counts for nothing, and never will. */
  public void keep(IdentityKey key) throws IOException {
    try (var _ = disks.lock()) {
      end(key);
      if (records.find(key, Stage.LEAVING).isPresent()) {
        change(key, Stage.LEAVING, Stage.READY);
      }
    }
  }

  private void end(IdentityKey key) {
    var loan = loans.remove(key);
    if (loan != null) {
      loan.ended = true;
    }
  }

  /**
   * Brings the disk here, as far as that was not done before. No VM can have it yet.
   *
   * <p>It lies on its image here as it does there. An image that cannot be had comes with the disk,
   * as a part of it that nobody else gets: what a node says of an image is not believed for other
   * disks.
   *
   * @param logins for its image, which may not be here
   * @param patience how long the image must have been missing before it comes from the source
   */
  public IdentityDisk receive(
      Identity identity, ImageLogins logins, MoveSource source, Credentials own, Duration patience)
      throws IOException {
    var key = identity.key();
    if (!underWay.add(key)) {
      throw PlatterException.of(Code.CONFLICT, "the disk of " + key + " is on its way", "");
    }
    try {
      var onBase = onBase(identity, logins, patience);
      try (var offer = ask(source, own, identity, onBase.isEmpty())) {
        var disk = offer.isWhole() ? whole(identity) : onBase.orElseThrow();
        var step = IdentityPlan.overlay(identity, disk.place(), layout);
        progress.before(step);
        var below = step.backing();
        offer.pull(disk.file(), below == null ? null : Overlays.backing(below), new Watcher(disk));
        Durable.syncDirectory(Durable.parent(disk.file()));
        progress.after(step);
        missing.forget(key);
        return disk;
      }
    } finally {
      underWay.remove(key);
    }
  }

  private MoveSource.Offer ask(MoveSource source, Credentials own, Identity identity, boolean whole)
      throws IOException {
    try {
      return source.ask(own, identity.key(), Objects.requireNonNull(identity.uid()), whole);
    } catch (PlatterException e) {
      throw missing.refused(identity.key(), e);
    }
  }

  /** The disk, with the base below it here; empty if it has to come whole. */
  private Optional<IdentityDisk> onBase(Identity identity, ImageLogins logins, Duration patience)
      throws IOException {
    var key = identity.key();
    var begun = begun(identity);
    if (begun.filter(IdentityDisk::isWhole).isPresent()) {
      return Optional.empty(); // What has come of it is of use only so.
    }
    var planned =
        begun.isPresent() ? begun : missing.attempt(key, patience, () -> planned(identity, logins));
    if (planned.isEmpty()) {
      return planned;
    }
    var disk = begun.isPresent() ? begun.get() : begin(planned.get());
    var found = missing.attempt(key, patience, () -> withBase(disk, logins));
    if (found.isPresent()) {
      missing.forget(key);
    }
    return found;
  }

  private Optional<IdentityDisk> begun(Identity identity) throws IOException {
    return records
        .find(identity.key(), Stage.COMING)
        .filter(found -> found.identity().equals(identity));
  }

  /** Where the disk was made its image was given to it, so one that is here needs no registry. */
  private IdentityDisk planned(Identity identity, ImageLogins logins) throws IOException {
    try {
      return disks.planned(identity, logins);
    } catch (PlatterException e) {
      var image = identity.spec().image();
      var digest = image.substring(image.lastIndexOf('@') + 1);
      if (MissingBases.isMissing(e) && images.isHere(image, digest)) {
        return disks.placed(identity, digest);
      }
      throw e;
    }
  }

  private IdentityDisk withBase(IdentityDisk disk, ImageLogins logins) throws IOException {
    var image = IdentityPlan.image(disk.identity(), disk.place()).orElseThrow();
    images.ensure(image.reference(), image.digest(), logins, progress);
    return disk;
  }

  private IdentityDisk whole(Identity identity) throws IOException {
    var begun = begun(identity).filter(IdentityDisk::isWhole);
    return begun.isPresent() ? begun.get() : begin(disks.placed(identity, null));
  }

  private final class Watcher implements MoveSource.Watcher {
    private final IdentityDisk disk;

    Watcher(IdentityDisk disk) {
      this.disk = disk;
    }

    @Override
    public void room(long bytes) throws IOException {
      pools.reserve(disk.file(), bytes, _ -> {});
    }

    @Override
    public void bytes(long done, long total) {
      progress.bytes("identity " + disk.identity().key(), done, total);
    }
  }

  /** In place of what was begun of it before. */
  private IdentityDisk begin(IdentityDisk disk) throws IOException {
    var identity = disk.identity();
    var plan = IdentityMaker.plan(layout, machine.libvirt(), List.of(disk));
    try (var _ = disks.lock()) {
      disks.recover();
      disks.remove(identity.key(), Stage.COMING);
      if (records.findWhole(identity.key()).isPresent()) {
        throw PlatterException.of(
            Code.CONFLICT, "there is a disk of " + identity.key() + " here", "");
      }
      runner.preparePools(plan, plan.steps());
      runner.refuseForeign(plan, IdentityPlan.overlay(identity, disk.place(), layout));
      records.begin(disk);
    }
    return disk;
  }

  /** The disk that came is the one that counts. */
  public void arrived(IdentityKey key) throws IOException {
    try (var _ = disks.lock()) {
      if (records.find(key, Stage.COMING).isPresent()) {
        change(key, Stage.COMING, Stage.READY);
      }
    }
    var disk = records.find(key);
    if (disk.isPresent()) {
      runner.poolsChanged(IdentityMaker.plan(layout, machine.libvirt(), List.of(disk.get())));
    }
  }

  /** Removes what came of a disk that is not wanted here any more. */
  public void abandon(IdentityKey key) throws IOException {
    if (!underWay.add(key)) {
      throw PlatterException.of(Code.CONFLICT, "the disk of " + key + " is on its way", "");
    }
    try (var _ = disks.lock()) {
      disks.recover();
      disks.remove(key, Stage.COMING);
      missing.forget(key);
    } finally {
      underWay.remove(key);
    }
  }
}
