package dev.platter.cluster.webhook;

import dev.platter.cluster.api.Condition;
import dev.platter.cluster.api.Conditions;
import dev.platter.cluster.api.MigrationPhase;
import dev.platter.cluster.api.Names;
import dev.platter.cluster.api.Reason;
import dev.platter.cluster.api.VirtualMachine;
import dev.platter.cluster.api.VirtualMachineMigration;
import dev.platter.cluster.api.VirtualMachineMigration.Spec;
import dev.platter.cluster.api.VmStatus;
import io.fabric8.kubernetes.api.model.HasMetadata;
import io.fabric8.kubernetes.api.model.ObjectMetaBuilder;
import io.fabric8.kubernetes.api.model.Pod;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/**
 * What becomes of the pod of a VM that somebody wants to evict, as {@code kubectl drain} does. A VM
 * that can move is moved first: who asks is told to ask again until it has. One that cannot is not
 * evicted, and it is said why. A pod that is no VM object's goes as every pod does.
 */
public final class Evictions {
  private static final Set<String> ENDED = Set.of("Succeeded", "Failed");

  /** Reasons that do not go away by trying again. */
  private static final Set<Reason> FINAL =
      Set.of(Reason.UNSUPPORTED, Reason.CHANGED, Reason.INVALID, Reason.REFUSED);

  /** What is asked of the cluster, and made there. */
  public interface Cluster {
    Optional<Pod> pod(String namespace, String name);

    Optional<VirtualMachine> vm(String namespace, String name);

    List<VirtualMachineMigration> migrations(String namespace);

    void create(VirtualMachineMigration migration);
  }

  private static final int AGAIN = 429;
  private static final int NO = 403;

  /**
   * Why a pod is not evicted.
   *
   * @param code an HTTP status: whether it makes sense to ask again
   */
  record Refusal(int code, String message) {}

  private static final Duration SHORTEST_WAIT = Duration.ofSeconds(10);
  private static final int MOST_DOUBLINGS = 5;

  private final Cluster cluster;
  private final InstantSource clock;

  public Evictions(Cluster cluster, InstantSource clock) {
    this.cluster = cluster;
    this.clock = clock;
  }

  /** What becomes of a guest whose pod is evicted all the same; empty if it is none. */
  Optional<String> warning(String namespace, String name) {
    return cluster
        .pod(namespace, name)
        .filter(pod -> isAlive(pod, Names.WRITTEN) && !isAlive(pod, Names.VM))
        .map(
            pod -> {
              var identity = labels(pod).get(Names.IDENTITY);
              return identity == null
                  ? "%s is an annotated pod, whose VM does not move: its guest is shut down"
                      .formatted(name)
                  : "%s is the VM of the identity %s, which does not move while it runs: its guest is shut down"
                      .formatted(name, identity);
            });
  }

  /**
   * Empty if it can be evicted.
   *
   * @param dryRun nothing is to be changed
   */
  Optional<Refusal> refusal(String namespace, String name, boolean dryRun) {
    var pod = cluster.pod(namespace, name).orElse(null);
    if (pod == null
        || !isAlive(pod, Names.VM)
        || pod.getMetadata().getDeletionTimestamp() != null) {
      return Optional.empty();
    }
    var annotations = pod.getMetadata().getAnnotations();
    var vm = cluster.vm(namespace, annotations.getOrDefault(Names.MOVED_VM, name)).orElse(null);
    if (vm == null
        || vm.getMetadata().getDeletionTimestamp() != null
        || !VmStatus.of(vm).pod(vm.getMetadata().getName()).equals(name)) {
      return Optional.empty();
    }
    return Optional.of(moving(vm, pod, dryRun));
  }

  /**
   * @param annotation that pods of this kind have
   */
  private static boolean isAlive(Pod pod, String annotation) {
    var annotations = pod.getMetadata().getAnnotations();
    var phase = pod.getStatus() == null ? null : pod.getStatus().getPhase();
    return annotations != null
        && annotations.containsKey(annotation)
        && pod.getSpec().getNodeName() != null
        && (phase == null || !ENDED.contains(phase));
  }

  private Refusal moving(VirtualMachine vm, Pod pod, boolean dryRun) {
    var name = vm.getMetadata().getName();
    var uid = pod.getMetadata().getUid();
    var all =
        cluster.migrations(vm.getMetadata().getNamespace()).stream()
            .filter(migration -> migration.getSpec().vm().equals(name))
            .sorted(Comparator.comparing(it -> it.getMetadata().getCreationTimestamp()))
            .toList();
    var active = all.stream().filter(migration -> !migration.ended()).findFirst();
    if (active.isPresent()) {
      var state = complete(active.get()).map(Condition::message).orElse("");
      return again(name, active.get().getMetadata().getName() + ": " + state);
    }
    // What was found out about this pod counts, and nothing older.
    var failed =
        all.stream()
            .filter(it -> uid.equals(labels(it).get(Names.EVICTED_POD)))
            .filter(it -> it.said().phase() == MigrationPhase.FAILED)
            .toList();
    var last = failed.stream().reduce((_, later) -> later).flatMap(Evictions::complete);
    if (last.isPresent() && FINAL.contains(Reason.of(last.get().reason()))) {
      return new Refusal(
          NO,
          "the VM %s cannot move to another node: %s Stop it (spec.running: false), or delete its pod."
              .formatted(name, last.get().message()));
    }
    if (!dryRun && !isSoon(failed)) {
      cluster.create(migration(vm, uid));
    }
    return again(name, last.map(it -> "tried again after: " + it.message()).orElse("it has begun"));
  }

  /** Whoever drains a node asks every few seconds, for as long as it takes. */
  private boolean isSoon(List<VirtualMachineMigration> failed) {
    if (failed.isEmpty()) {
      return false;
    }
    var wait = SHORTEST_WAIT.multipliedBy(1L << Math.min(failed.size() - 1, MOST_DOUBLINGS));
    var begun = Instant.parse(failed.getLast().getMetadata().getCreationTimestamp());
    return clock.instant().isBefore(begun.plus(wait));
  }

  private static Refusal again(String vm, String state) {
    return new Refusal(AGAIN, "the VM %s is moving to another node (%s)".formatted(vm, state));
  }

  private static Map<String, String> labels(HasMetadata object) {
    var labels = object.getMetadata().getLabels();
    return labels == null ? Map.of() : labels;
  }

  private static Optional<Condition> complete(VirtualMachineMigration migration) {
    return Optional.ofNullable(Conditions.find(migration.said().conditions(), Condition.COMPLETE));
  }

  private static VirtualMachineMigration migration(VirtualMachine vm, String pod) {
    var out = new VirtualMachineMigration();
    out.setMetadata(
        new ObjectMetaBuilder()
            .withGenerateName(vm.getMetadata().getName() + "-")
            .withNamespace(vm.getMetadata().getNamespace())
            .addToLabels(Names.EVICTED_POD, pod)
            .build());
    out.setSpec(new Spec(vm.getMetadata().getName(), null, null));
    return out;
  }
}
