package dev.platter.cluster.node;

import dev.platter.cluster.api.IdentityOrder;
import dev.platter.cluster.api.VmIdentitySet;
import dev.platter.model.IdentityKey;
import io.fabric8.kubernetes.api.model.Pod;
import io.fabric8.kubernetes.client.KubernetesClientException;
import java.time.Duration;
import java.util.Optional;
import java.util.function.BiFunction;
import java.util.function.Function;
import java.util.function.LongSupplier;

/**
 * What keeps the VM of one pod from the disk of its identity, in words for who made the pod. Where
 * there is no identity they are about the set that it would be made from; of that the API server is
 * asked, now and then.
 */
final class IdentityObstacles {
  static final Duration BETWEEN_QUESTIONS = Duration.ofSeconds(2);

  private final Pod pod;
  private final Function<IdentityKey, Optional<String>> access;
  private final Function<IdentityKey, Boolean> exists;
  private final BiFunction<String, String, Optional<VmIdentitySet>> sets;
  private final LongSupplier clock;
  private long nextQuestion;
  private Optional<String> answer = Optional.empty();

  /**
   * @param access what stands between a VM and the disk of an identity
   * @param sets by namespace and name; may fail with a {@code KubernetesClientException}
   */
  IdentityObstacles(
      Pod pod,
      Function<IdentityKey, Optional<String>> access,
      Function<IdentityKey, Boolean> exists,
      BiFunction<String, String, Optional<VmIdentitySet>> sets) {
    this(pod, access, exists, sets, System::nanoTime);
  }

  /**
   * @param clock in nanoseconds
   */
  IdentityObstacles(
      Pod pod,
      Function<IdentityKey, Optional<String>> access,
      Function<IdentityKey, Boolean> exists,
      BiFunction<String, String, Optional<VmIdentitySet>> sets,
      LongSupplier clock) {
    this.pod = pod;
    this.access = access;
    this.exists = exists;
    this.sets = sets;
    this.clock = clock;
    this.nextQuestion = clock.getAsLong();
  }

  /** Empty if nothing does. */
  Optional<String> now() {
    var identity = IdentityPods.identity(pod);
    if (identity.isEmpty()) {
      return Optional.empty();
    }
    var obstacle = access.apply(identity.get());
    return obstacle.isEmpty() || exists.apply(identity.get())
        ? obstacle
        : whyNoneIsMade().or(() -> obstacle);
  }

  private Optional<String> whyNoneIsMade() {
    if (clock.getAsLong() - nextQuestion >= 0) {
      nextQuestion = clock.getAsLong() + BETWEEN_QUESTIONS.toNanos();
      try {
        var order = IdentityOrder.of(pod);
        var set = sets.apply(pod.getMetadata().getNamespace(), order.set());
        answer = order.refusal(set.orElse(null)).map(IdentityOrder.Refusal::message);
      } catch (KubernetesClientException e) {
        // Then it is not known.
      }
    }
    return answer;
  }
}
