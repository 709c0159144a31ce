package dev.platter.cluster.controller;

import dev.platter.cluster.api.ClaimSource;
import dev.platter.cluster.api.Condition;
import dev.platter.cluster.api.Conditions;
import dev.platter.cluster.api.DiskImport;
import dev.platter.cluster.api.DiskSource;
import dev.platter.cluster.api.DiskUpload;
import dev.platter.cluster.api.FillPhase;
import dev.platter.cluster.api.FillStatus;
import dev.platter.cluster.api.FilledClaim;
import dev.platter.cluster.api.Reason;
import dev.platter.cluster.api.VmImage;
import dev.platter.cluster.controller.Populations.Progress;
import dev.platter.node.x509.Authority;
import io.fabric8.kubernetes.api.model.PersistentVolumeClaim;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.time.temporal.ChronoUnit;
import java.util.Comparator;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.function.Supplier;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Fills the claims that name one {@code DiskImport}, {@code DiskUpload} or {@code VirtletVMImage}
 * in their {@code dataSourceRef}, and says in its status how far they are. What is done for one
 * claim is in {@link Population}. Snapshots that claims are made from go when no claim has named
 * their object for a while, and when it was changed.
 */
final class PopulateReconciler implements ControlLoop.Work {
  private final Populations cluster;
  private final Originals originals;
  private final Remains remains;
  private final Population population;
  private final Duration grace;
  private final boolean cdi;
  private final InstantSource clock;

  /**
   * @param grace how long snapshots of a disk stay that no claim names
   * @param uploads who signs for uploads, where clients of CDI can send disks; null elsewhere
   */
  PopulateReconciler(
      Populations cluster,
      Supplier<FillPod.Program> program,
      Duration grace,
      @Nullable Supplier<Authority> uploads,
      InstantSource clock) {
    this.cluster = cluster;
    this.originals = new Originals(cluster, clock);
    this.remains = new Remains(cluster);
    this.population = new Population(cluster, originals, remains, program, uploads, clock);
    this.grace = grace;
    this.cdi = uploads != null;
    this.clock = clock;
  }

  @Override
  public @Nullable Duration reconcile(String text) {
    var key = SourceKey.parse(text);
    var found = cluster.source(key);
    var claims = cluster.claims(key).stream().filter(claim -> !Owned.ends(claim)).toList();
    if (found == null && isMade(key, claims)) {
      return null;
    }
    if (found == null || Owned.ends(found)) {
      claims.forEach(claim -> abandon(key, claim));
      return null;
    }
    var referred = ReferredDisk.of(found, cluster);
    var source = referred.source();
    if (source instanceof DiskImport disk && !disk.observed()) {
      originals.removeOld(disk);
    }
    var looks = heard(source, claims.stream().map(claim -> look(referred, claim)).toList());
    for (var i = 0; i < looks.size(); i++) {
      tell(source, claims.get(i), before(source, claims.get(i)), looks.get(i).claim());
    }
    var unused = source instanceof DiskImport disk && disk.pinned() && claims.isEmpty();
    var since = unused ? Optional.ofNullable(source.said().unusedSince()).orElse(now()) : null;
    say(referred, looks.stream().map(Population.Look::claim).toList(), since);
    if (cdi) {
      looks.forEach(look -> annotate(claims, look.claim()));
    }
    return Stream.concat(
            looks.stream().map(Population.Look::again), Stream.ofNullable(leave(source, since)))
        .filter(Objects::nonNull)
        .min(Comparator.naturalOrder())
        .orElse(null);
  }

  private static FilledClaim before(ClaimSource source, PersistentVolumeClaim claim) {
    return source.said().of(claim.getMetadata().getName(), claim.getMetadata().getUid());
  }

  private Population.Look look(ReferredDisk referred, PersistentVolumeClaim claim) {
    var before = before(referred.source(), claim);
    var obstacle = referred.obstacle();
    return Refusals.told(
        () ->
            obstacle == null
                ? population.look(referred.source(), claim, before)
                : population.withheld(referred.source(), obstacle, claim, before),
        why -> Population.refused(before, Refusals.message(why)));
  }

  /** Those of pods that are at work, with what these say. */
  private List<Population.Look> heard(ClaimSource source, List<Population.Look> looks) {
    var pods = looks.stream().map(Population.Look::atWork).filter(Objects::nonNull).toList();
    var answers =
        (pods.isEmpty() ? List.<Optional<Progress>>of() : cluster.progress(pods)).iterator();
    return looks.stream()
        .map(look -> look.atWork() == null ? look : PodsAtWork.heard(source, look, answers.next()))
        .toList();
  }

  /** Whether a claim of a client of CDI got what it is to be filled from. */
  private boolean isMade(SourceKey key, List<PersistentVolumeClaim> claims) {
    return cdi
        && key.kind().equals(DiskUpload.KIND)
        && claims.stream()
            .filter(claim -> claim.getMetadata().getName().equals(key.name()))
            .filter(claim -> claim.getSpec().getVolumeName() == null)
            .filter(CdiClaim::isMeant)
            .anyMatch(this::make);
  }

  private boolean make(PersistentVolumeClaim claim) {
    return Refusals.told(
        () -> {
          cluster.create(CdiClaim.source(claim));
          return true;
        },
        why -> {
          cluster.event(claim, Reason.REFUSED, Refusals.message(why));
          return false;
        });
  }

  private void annotate(List<PersistentVolumeClaim> claims, FilledClaim said) {
    claims.stream()
        .filter(claim -> claim.getMetadata().getUid().equals(said.uid()))
        .filter(CdiClaim::isMeant)
        .forEach(
            claim -> {
              var news = CdiClaim.news(claim, said, cluster.pod(PrimeClaim.key(claim)));
              if (!news.isEmpty()) {
                cluster.annotate(claim, news);
              }
            });
  }

  private String now() {
    return clock.instant().truncatedTo(ChronoUnit.SECONDS).toString();
  }

  /** When to look again at what nobody needs. */
  private @Nullable Duration leave(ClaimSource source, @Nullable String since) {
    if (since == null || !(source instanceof DiskImport disk)) {
      return null;
    }
    var left = Duration.between(clock.instant(), Instant.parse(since).plus(grace));
    if (left.isPositive()) {
      return left;
    }
    originals.removeAll(disk);
    return null;
  }

  /** What was begun for it goes; the claim waits for somebody to make the object. */
  private void abandon(SourceKey key, PersistentVolumeClaim claim) {
    remains.clear(claim);
    if (!PrimeClaim.isBound(claim)) {
      cluster.event(
          claim, Reason.NOT_FOUND, "There is no %s %s.".formatted(key.kind(), key.name()));
    }
  }

  /** Both are asked how it is: the claim by those who use it, the source by those who made it. */
  private void tell(
      ClaimSource source, PersistentVolumeClaim claim, FilledClaim before, FilledClaim now) {
    var waits = now.phase() == FillPhase.WAITING;
    var why = Reason.of(now.reason());
    if (waits
        ? why.isNormal() || Objects.equals(now.reason(), before.reason())
        : now.phase() == before.phase()) {
      return;
    }
    var reason =
        switch (Objects.requireNonNull(now.phase())) {
          case WAITING -> why;
          case FILLING -> Reason.FILLING;
          case RETRYING -> Reason.FILL_FAILED;
          case FILLED -> Reason.FILLED;
        };
    var message = String.valueOf(now.message());
    cluster.event(claim, reason, message);
    cluster.event(source, reason, claim.getMetadata().getName() + ": " + message);
  }

  private void say(ReferredDisk referred, List<FilledClaim> claims, @Nullable String unusedSince) {
    var sorted = claims.stream().sorted(Comparator.comparing(FilledClaim::name)).toList();
    var source = referred.source();
    var said = source.said();
    var status =
        switch (source) {
          case DiskSource disk ->
              new FillStatus(
                  sorted,
                  conditions(disk, referred.obstacle(), sorted),
                  disk.getMetadata().getGeneration(),
                  disk instanceof DiskImport wanted ? wanted.referredVersion() : null,
                  unusedSince);
          // The rest is said by who imports it.
          case VmImage _ ->
              new FillStatus(
                  sorted, said.conditions(), said.observedGeneration(), null, said.unusedSince());
        };
    if (!status.equals(said)) {
      cluster.status(source, status);
    }
  }

  private List<Condition> conditions(
      DiskSource source, Way.@Nullable Wait obstacle, List<FilledClaim> claims) {
    var late =
        claims.stream().filter(claim -> claim.phase() != FillPhase.FILLED).findFirst().orElse(null);
    var state =
        late != null
            ? new Way.Wait(Reason.of(late.reason()), late.name() + ": " + late.message())
            : !claims.isEmpty()
                ? new Way.Wait(Reason.FILLED, "All claims that name it are filled.")
                : obstacle != null ? obstacle : Way.Wait.of(Reason.WAITING_FOR_CLAIM);
    var generation = source.getMetadata().getGeneration();
    var ready = late == null && !claims.isEmpty();
    return new Conditions(source.said().conditions(), generation, clock.instant())
        .add(Condition.READY, ready, state.reason(), state.message())
        .all();
  }
}
