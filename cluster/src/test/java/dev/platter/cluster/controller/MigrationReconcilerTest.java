package dev.platter.cluster.controller;

import static dev.platter.cluster.controller.Objects.FREE;
import static dev.platter.cluster.controller.Objects.NOW;
import static dev.platter.cluster.controller.Objects.finalized;
import static dev.platter.cluster.controller.Objects.hasMoved;
import static dev.platter.cluster.controller.Objects.on;
import static dev.platter.cluster.controller.Objects.pod;
import static dev.platter.cluster.controller.Objects.ready;
import static dev.platter.cluster.controller.Objects.running;
import static dev.platter.cluster.controller.Objects.vm;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.platter.cluster.api.MigrationPhase;
import dev.platter.cluster.api.Names;
import dev.platter.cluster.api.VirtualMachine;
import dev.platter.cluster.api.VirtualMachineMigration;
import dev.platter.cluster.api.VirtualMachineMigration.Spec;
import dev.platter.cluster.api.VirtualMachineMigration.Status;
import dev.platter.cluster.api.VmStatus;
import io.fabric8.kubernetes.api.model.NodeBuilder;
import io.fabric8.kubernetes.api.model.ObjectMetaBuilder;
import io.fabric8.kubernetes.api.model.Pod;
import io.fabric8.kubernetes.api.model.PodBuilder;
import io.fabric8.kubernetes.client.KubernetesClientException;
import io.fabric8.kubernetes.client.utils.Serialization;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class MigrationReconcilerTest {
  private static final String VM = "shop/web";
  private static final String TARGET = "shop/web-aaaaaaaa";

  private final FakeCluster cluster = new FakeCluster();
  private final MigrationReconciler reconciler =
      new MigrationReconciler(cluster, cluster, () -> NOW);
  private VirtualMachine vm;

  @BeforeEach
  void aVmThatRuns() {
    cluster.nodes.put(
        "node1", new NodeBuilder().withNewMetadata().withName("node1").endMetadata().build());
    vm = ready(finalized(vm("running: true", FREE)));
    cluster.put(vm);
    cluster.pods.put(VM, running(pod(vm)));
  }

  private VirtualMachineMigration migration(String name, char digit, @Nullable String node) {
    var out = new VirtualMachineMigration();
    out.setMetadata(
        new ObjectMetaBuilder()
            .withName(name)
            .withNamespace("shop")
            .withUid("aaaaaaaa-0000-0000-0000-000000000000".replace('a', digit))
            .withCreationTimestamp("2026-01-01T00:00:0" + (digit - 'a') + "Z")
            .withFinalizers(List.of())
            .build());
    out.setSpec(new Spec("web", node, null));
    cluster.migrations.put("shop/" + name, out);
    return out;
  }

  private MigrationPhase look(VirtualMachineMigration migration) {
    reconciler.reconcile("shop/" + migration.getMetadata().getName());
    reconciler.reconcile("shop/" + migration.getMetadata().getName());
    return migration.said().phase();
  }

  private static Pod started(Pod pod, String node) {
    return new PodBuilder(on(node, pod)).withNewStatus().withPhase("Running").endStatus().build();
  }

  @Test
  void aPodOnAnotherNodeIsMadeAndThenItIsTheNodesTurn() {
    var migration = migration("away", 'a', null);

    assertThat(look(migration)).isEqualTo(MigrationPhase.PREPARING);
    var target = cluster.pods.get(TARGET);
    assertThat(target.getMetadata().getAnnotations()).containsEntry(Names.MOVED_VM, "web");
    assertThat(target.getSpec().getAffinity().toString()).contains("NotIn").contains("node1");
    assertThat(migration.getMetadata().getFinalizers()).containsExactly(Names.MIGRATION_FINALIZER);

    cluster.pods.put(TARGET, started(target, "node2"));
    assertThat(look(migration)).isEqualTo(MigrationPhase.MOVING);
    assertThat(migration.said().sourceNode()).isEqualTo("node1");
    assertThat(migration.said().targetNode()).isEqualTo("node2");
  }

  @Test
  void thePodThatTheVmIsNotInGoes() {
    var migration = migration("away", 'a', null);
    look(migration);
    cluster.pods.put(TARGET, started(cluster.pods.get(TARGET), "node2"));
    look(migration);

    migration.setStatus(migration.said().at(MigrationPhase.SUCCEEDED, List.of()));
    hasMoved(vm);
    assertThat(reconciler.reconcile("shop/away")).isNull();
    assertThat(cluster.pods).containsOnlyKeys(TARGET);
    assertThat(migration.getMetadata().getFinalizers()).isEmpty();
  }

  private VirtualMachineMigration underWay() {
    var migration = migration("away", 'a', null);
    look(migration);
    cluster.pods.put(TARGET, started(cluster.pods.get(TARGET), "node2"));
    assertThat(look(migration)).isEqualTo(MigrationPhase.MOVING);
    return migration;
  }

  @Test
  void thePodThatTheVmIsInStaysWhateverAnInformerSays() {
    var migration = underWay();
    cluster.seen.put(VM, Serialization.clone(vm));
    hasMoved(vm);
    cluster.nodes.clear();

    assertThat(look(migration)).isEqualTo(MigrationPhase.SUCCEEDED);
    assertThat(cluster.pods).containsOnlyKeys(TARGET);
  }

  @Test
  void aVmThatRunsUnderItsOwnNameAgainKeepsThatPod() {
    var migration = underWay();
    migration.setStatus(migration.said().at(MigrationPhase.SUCCEEDED, List.of()));

    assertThat(reconciler.reconcile("shop/away")).isNull();
    assertThat(cluster.pods).containsOnlyKeys(VM);
    assertThat(migration.getMetadata().getFinalizers()).isEmpty();
  }

  @Test
  void aPodThatNobodyHasHeardOfGoesToo() {
    var migration = migration("away", 'a', null);
    look(migration);
    migration.setStatus(Status.NONE);
    migration.getMetadata().setDeletionTimestamp("2026-01-01T00:00:09Z");

    assertThat(look(migration)).isEqualTo(MigrationPhase.FAILED);
    assertThat(cluster.pods).containsOnlyKeys(VM);
  }

  @ParameterizedTest
  @CsvSource({"429", "500"})
  void whoDoesNotAnswerIsAskedAgain(int code) {
    var migration = migration("away", 'a', null);
    reconciler.reconcile("shop/away");
    cluster.refusal = code;

    assertThatThrownBy(() -> reconciler.reconcile("shop/away"))
        .isInstanceOf(KubernetesClientException.class);
    assertThat(migration.ended()).isFalse();
  }

  @Test
  void whatIsCancelledLeavesTheVmWhereItIs() {
    var migration = migration("away", 'a', null);
    look(migration);
    migration.getMetadata().setDeletionTimestamp("2026-01-01T00:00:09Z");

    assertThat(look(migration)).isEqualTo(MigrationPhase.FAILED);
    assertThat(cluster.pods).containsOnlyKeys(VM);
    assertThat(migration.getMetadata().getFinalizers()).isEmpty();
  }

  @Test
  void oneAfterTheOther() {
    var first = migration("first", 'a', null);
    var second = migration("second", 'b', null);

    assertThat(look(second)).isEqualTo(MigrationPhase.PENDING);
    assertThat(look(first)).isEqualTo(MigrationPhase.PREPARING);
    assertThat(second.said().conditions().getFirst().message()).isEqualTo("It waits for first.");
  }

  @Test
  void oneThatHasBegunStaysTheFirstOfThoseOfTheSameSecond() {
    var begun = migration("begun", 'b', null);
    assertThat(look(begun)).isEqualTo(MigrationPhase.PREPARING);
    var later = migration("later", 'a', null);
    later.getMetadata().setCreationTimestamp(begun.getMetadata().getCreationTimestamp());

    assertThat(look(later)).isEqualTo(MigrationPhase.PENDING);
    assertThat(cluster.pods).containsOnlyKeys(VM, "shop/web-bbbbbbbb");
  }

  private void loseNode() {
    cluster.nodes.put(
        "node1",
        new NodeBuilder()
            .withNewMetadata()
            .withName("node1")
            .endMetadata()
            .withNewStatus()
            .addNewCondition()
            .withType("Ready")
            .withStatus("Unknown")
            .endCondition()
            .endStatus()
            .build());
  }

  /** Nobody else would say that it is over, and other migrations of the VM wait for it. */
  @Test
  void aVmThatWasStartedAnewSinceItsNodeIsLostIsNotMovingAnyMore() {
    var migration = underWay();
    loseNode();
    assertThat(look(migration)).as("it may be on its way").isEqualTo(MigrationPhase.MOVING);

    startedOn("node3");
    assertThat(look(migration)).isEqualTo(MigrationPhase.FAILED);
    assertThat(cluster.pods).doesNotContainKey(TARGET);
    assertThat(migration.getMetadata().getFinalizers()).isEmpty();
  }

  @Test
  void aVmThatCameFromANodeThatIsLostHasMoved() {
    var migration = underWay();
    loseNode();
    hasMoved(vm);
    assertThat(look(migration)).isEqualTo(MigrationPhase.SUCCEEDED);
    assertThat(cluster.pods).containsOnlyKeys(TARGET);
  }

  private void startedOn(String node) {
    var was = VmStatus.of(vm);
    vm.setStatus(
        new VmStatus(
            was.phase(),
            was.conditions(),
            node,
            was.sources(),
            List.of(),
            was.observedGeneration()));
  }

  @Test
  void aVmWithAClaimThatAKubeletMountsStaysAndItIsSaidWhy() {
    var mounted =
        new PodBuilder(running(pod(vm)))
            .editSpec()
            .addNewVolume()
            .withName("data")
            .withNewPersistentVolumeClaim("orders", false)
            .endVolume()
            .endSpec()
            .build();
    cluster.pods.put(VM, mounted);
    var migration = migration("away", 'a', null);
    assertThat(look(migration)).isEqualTo(MigrationPhase.FAILED);
    assertThat(migration.said().conditions().getFirst().message())
        .startsWith("The claim orders is mounted by the kubelet of the VM's node");
    assertThat(cluster.pods).containsOnlyKeys(VM);
  }

  @Test
  void whereItIsAlreadyItDoesNotGo() {
    assertThat(look(migration("here", 'a', "node1"))).isEqualTo(MigrationPhase.FAILED);
    assertThat(cluster.pods).containsOnlyKeys(VM);
  }
}
