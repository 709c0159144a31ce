package dev.platter.cluster.controller;

import dev.platter.cluster.api.Condition;
import dev.platter.cluster.api.Conditions;
import dev.platter.cluster.api.DiskSource;
import dev.platter.cluster.api.FillPhase;
import dev.platter.cluster.api.FillStatus;
import dev.platter.cluster.api.FilledClaim;
import dev.platter.cluster.api.Reason;
import io.fabric8.kubernetes.api.model.PersistentVolumeClaim;
import java.time.Duration;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * Fills the claims that name one {@code DiskImport} or {@code DiskUpload} in their {@code
 * dataSourceRef}, and says in its status how far they are. What is done for one claim is in {@link
 * Population}.
 */
final class PopulateReconciler implements ControlLoop.Work {
  private final Populations cluster;
  private final Population population;
  private final InstantSource clock;

  PopulateReconciler(Populations cluster, Population population, InstantSource clock) {
    this.cluster = cluster;
    this.population = population;
    this.clock = clock;
  }

  @Override
  public @Nullable Duration reconcile(String text) {
    var key = SourceKey.parse(text);
    var source = cluster.source(key);
    var claims = cluster.claims(key).stream().filter(claim -> !Owned.ends(claim)).toList();
    if (source == null || Owned.ends(source)) {
      claims.forEach(claim -> abandon(key, claim));
      return null;
    }
    var looks = new ArrayList<Population.Look>();
    for (var claim : claims) {
      var before = source.said().of(claim.getMetadata().getName(), claim.getMetadata().getUid());
      var look =
          Refusals.told(
              () -> population.look(source, claim, before),
              why -> Population.refused(before, Refusals.message(why)));
      tell(source, claim, before, look.claim());
      looks.add(look);
    }
    say(source, looks.stream().map(Population.Look::claim).toList());
    return looks.stream()
        .map(Population.Look::again)
        .filter(Objects::nonNull)
        .min(Comparator.naturalOrder())
        .orElse(null);
  }

  /** What was begun for it goes; the claim waits for somebody to make the object. */
  private void abandon(SourceKey key, PersistentVolumeClaim claim) {
    population.clear(claim);
    if (!PrimeClaim.isBound(claim)) {
      cluster.event(
          claim, Reason.NOT_FOUND, "There is no %s %s.".formatted(key.kind(), key.name()));
    }
  }

  /** Both are asked how it is: the claim by those who use it, the source by those who made it. */
  private void tell(
      DiskSource source, PersistentVolumeClaim claim, FilledClaim before, FilledClaim now) {
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

  private void say(DiskSource source, List<FilledClaim> claims) {
    var sorted = claims.stream().sorted(Comparator.comparing(FilledClaim::name)).toList();
    var late =
        sorted.stream().filter(claim -> claim.phase() != FillPhase.FILLED).findFirst().orElse(null);
    var reason =
        late != null
            ? Reason.of(late.reason())
            : sorted.isEmpty() ? Reason.WAITING_FOR_CLAIM : Reason.FILLED;
    var message =
        late == null
            ? sorted.isEmpty() ? reason.sentence() : "All claims that name it are filled."
            : late.name() + ": " + late.message();
    var generation = source.getMetadata().getGeneration();
    var conditions =
        new Conditions(source.said().conditions(), generation, clock.instant())
            .add(Condition.READY, late == null && !sorted.isEmpty(), reason, message)
            .all();
    var status = new FillStatus(sorted, conditions, generation);
    if (!status.equals(source.said())) {
      cluster.status(source, status);
    }
  }
}
