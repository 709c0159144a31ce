package dev.platter.cluster.controller;

import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.platter.cluster.api.Condition;
import dev.platter.cluster.api.Conditions;
import dev.platter.cluster.api.IdentityStatus;
import dev.platter.cluster.api.Reason;
import dev.platter.cluster.api.VmIdentity;
import dev.platter.cluster.api.VmIdentitySet;
import io.fabric8.kubernetes.api.model.HasMetadata;
import io.fabric8.kubernetes.api.model.apps.StatefulSet;
import io.fabric8.kubernetes.client.KubernetesClientException;
import java.net.HttpURLConnection;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/**
 * What the set of an identity means to it after it was made: whether it is still there, and whether
 * a StatefulSet is to run the identity's VM.
 *
 * <p>A StatefulSet is applied when what it should be has changed, or when its generation says that
 * somebody changed it; a new controller applies each once, which changes nothing. It is made when
 * nodes have had their say about the disk, so that its pod is placed where the disk is. It goes
 * when the identity is deleted; then its VM ends, and only then does the node let the disk go. A
 * set that is gone stops nothing.
 */
final class PetReconciler implements ControlLoop.Work {
  /** An identity may be known a moment before its set. */
  private static final Duration SET_WAIT = Duration.ofSeconds(5);

  /** Nothing tells when a name is free, or when a quota has room. */
  private static final Duration REFUSED_WAIT = Duration.ofSeconds(30);

  private static final Set<String> OURS = Set.of(Condition.SET_FOUND, Condition.AUTO_STARTED);

  /** What informers know. */
  interface Known {
    @Nullable VmIdentity identity(String key);

    @Nullable VmIdentitySet set(String key);

    /** The StatefulSet of this name that runs an identity's VM. */
    @Nullable StatefulSet pet(String key);
  }

  /** The changes that it makes; each may fail with a {@code KubernetesClientException}. */
  interface Changes {
    /** As it is now, past all informers, whoever made it. */
    @Nullable StatefulSet statefulSet(String namespace, String name);

    /** Makes nothing, but fails as if it did. */
    void tryPod(ObjectNode pod);

    /**
     * @param force whether it is known to be ours; if not, nothing of somebody else's is changed
     * @return its generation
     */
    long apply(ObjectNode pet, boolean force);

    /** If it is still the version that was looked at. */
    void delete(StatefulSet pet);

    /** All that the controller says of it; what others say stays. */
    void conditions(VmIdentity identity, List<Condition> conditions);

    void event(HasMetadata about, Reason reason, String message);
  }

  /** What was applied, and the generation that it has since. */
  private record Applied(UUID what, long generation) {}

  private final Known known;
  private final Changes changes;
  private final InstantSource clock;
  private final Map<String, Applied> applied = new ConcurrentHashMap<>();

  PetReconciler(Known known, Changes changes, InstantSource clock) {
    this.known = known;
    this.changes = changes;
    this.clock = clock;
  }

  @Override
  public @Nullable Duration reconcile(String key) {
    var identity = known.identity(key);
    if (identity == null) {
      applied.remove(key); // Its StatefulSet has it as its owner, and goes as well.
      return null;
    }
    var found = known.pet(key);
    var pet = found != null && Pet.isOf(found, identity) ? found : null;
    if (identity.ends()) {
      stop(pet);
      return null;
    }
    var wanted = identity.set();
    if (wanted.isEmpty()) {
      return null;
    }
    var set = known.set(identity.getMetadata().getNamespace() + "/" + wanted);
    if (set == null) {
      return setGone(identity);
    }
    if (!set.autoStarts()) {
      stop(pet);
      say(identity, conditions(identity));
      return null;
    }
    if (pet == null ? !decided(identity) : ends(pet)) {
      return null; // A change will tell when there is something to do.
    }
    return run(key, identity, set, pet);
  }

  /** Whether it is known where the disk is, or why there is none. */
  private static boolean decided(VmIdentity identity) {
    var status = IdentityStatus.of(identity);
    return status.nodeName() != null || condition(identity, Condition.READY) != null;
  }

  private static boolean ends(StatefulSet pet) {
    return pet.getMetadata().getDeletionTimestamp() != null;
  }

  private void stop(@Nullable StatefulSet pet) {
    if (pet != null && !ends(pet)) {
      changes.delete(pet);
    }
  }

  private @Nullable Duration setGone(VmIdentity identity) {
    var made = Instant.parse(identity.getMetadata().getCreationTimestamp());
    if (made.plus(SET_WAIT).isAfter(clock.instant())) {
      return SET_WAIT;
    }
    var message =
        "There is no VirtletVMIdentitySet %s. The identity stays what it is."
            .formatted(identity.set());
    var all = conditions(identity).add(Condition.SET_FOUND, false, Reason.SET_GONE, message);
    var started = condition(identity, Condition.AUTO_STARTED);
    if (started != null) {
      all.keep(started);
    }
    if (say(identity, all)) {
      changes.event(identity, Reason.SET_GONE, message);
    }
    return null;
  }

  private @Nullable Duration run(
      String key, VmIdentity identity, VmIdentitySet set, @Nullable StatefulSet pet) {
    var name = identity.getMetadata().getName();
    if (!Pet.canBeCalled(name)) {
      refused(identity, Reason.INVALID, Pet.NAME_RULE);
      return null;
    }
    var desired = Pet.of(identity, set);
    var what = UUID.nameUUIDFromBytes(desired.toString().getBytes(StandardCharsets.UTF_8));
    var before = applied.get(key);
    var judged = before != null && before.what().equals(what);
    if (before == null || !judged || pet == null || isNewer(pet, before)) {
      try {
        if (!judged) {
          judge(Pet.pod(desired), pet != null);
        }
        var generation = changes.apply(Pet.exactly(desired, pet), pet != null);
        applied.put(key, new Applied(what, generation));
      } catch (KubernetesClientException e) {
        refused(identity, pet, e);
        return REFUSED_WAIT;
      }
    }
    var message = "The StatefulSet %s keeps its pod %s-0.".formatted(name, name);
    say(
        identity,
        conditions(identity).add(Condition.AUTO_STARTED, true, Reason.KEPT_RUNNING, message));
    return null;
  }

  private static boolean isNewer(StatefulSet pet, Applied before) {
    return pet.getMetadata().getGeneration() > before.generation();
  }

  /** A StatefulSet is taken by the API server whose pods are not: then a running VM would end. */
  private void judge(ObjectNode pod, boolean exists) {
    try {
      changes.tryPod(pod);
    } catch (KubernetesClientException e) {
      // There is no quota for a second pod beside the one that is.
      var mayPass = exists && e.getCode() == HttpURLConnection.HTTP_FORBIDDEN;
      if (!mayPass && e.getCode() != HttpURLConnection.HTTP_CONFLICT) {
        throw e;
      }
    }
  }

  private void refused(
      VmIdentity identity, @Nullable StatefulSet pet, KubernetesClientException why) {
    var isRefusal = why.getCode() >= 400 && why.getCode() < 500;
    if (!isRefusal || why.getCode() == HttpURLConnection.HTTP_NOT_FOUND) {
      throw why;
    }
    var meta = identity.getMetadata();
    var other = pet == null ? changes.statefulSet(meta.getNamespace(), meta.getName()) : pet;
    if (other != null && !Pet.isOf(other, identity)) {
      refused(
          identity,
          Reason.NAME_TAKEN,
          "The StatefulSet %s is not the identity's. Delete it.".formatted(meta.getName()));
    } else if (why.getCode() == HttpURLConnection.HTTP_CONFLICT) {
      throw why;
    } else {
      refused(identity, Reason.INVALID, "The set's template is refused: " + said(why));
    }
  }

  private static String said(KubernetesClientException e) {
    var status = e.getStatus();
    var message = status == null ? null : status.getMessage();
    return message == null ? String.valueOf(e.getMessage()) : message;
  }

  private void refused(VmIdentity identity, Reason reason, String message) {
    if (say(identity, conditions(identity).add(Condition.AUTO_STARTED, false, reason, message))) {
      changes.event(identity, reason, message);
    }
  }

  private Conditions conditions(VmIdentity identity) {
    return new Conditions(
        IdentityStatus.of(identity).conditions(),
        identity.getMetadata().getGeneration(),
        clock.instant());
  }

  private static @Nullable Condition condition(VmIdentity identity, String type) {
    return Conditions.find(IdentityStatus.of(identity).conditions(), type);
  }

  /** Whether that was news. */
  private boolean say(VmIdentity identity, Conditions wanted) {
    var said =
        IdentityStatus.of(identity).conditions().stream()
            .filter(condition -> OURS.contains(condition.type()))
            .toList();
    if (Set.copyOf(said).equals(Set.copyOf(wanted.all()))) {
      return false;
    }
    changes.conditions(identity, wanted.all());
    return true;
  }
}
