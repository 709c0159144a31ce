package dev.platter.cluster.controller;

import static dev.platter.cluster.controller.Objects.FREE;
import static dev.platter.cluster.controller.Objects.KEPT;
import static dev.platter.cluster.controller.Objects.NOW;
import static dev.platter.cluster.controller.Objects.deleted;
import static dev.platter.cluster.controller.Objects.ended;
import static dev.platter.cluster.controller.Objects.finalized;
import static dev.platter.cluster.controller.Objects.pod;
import static dev.platter.cluster.controller.Objects.running;
import static dev.platter.cluster.controller.Objects.vm;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.platter.cluster.api.Condition;
import dev.platter.cluster.api.Names;
import dev.platter.cluster.api.VmPhase;
import dev.platter.cluster.api.VmStatus;
import io.fabric8.kubernetes.api.model.NodeBuilder;
import io.fabric8.kubernetes.api.model.PodBuilder;
import io.fabric8.kubernetes.client.KubernetesClientException;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class VmReconcilerTest {
  private static final String KEY = "shop/web";

  private final FakeCluster cluster = new FakeCluster();
  private final VmReconciler reconciler =
      new VmReconciler(
          cluster,
          cluster,
          new Sources(
              cluster,
              cluster,
              new VolumeCalls((_, _, _) -> null, Runnable::run, () -> NOW),
              _ -> {},
              () -> NOW),
          new Wrappers(cluster, cluster, () -> NOW),
          () -> NOW);

  @BeforeEach
  void aNode() {
    cluster.nodes.put(
        "node1", new NodeBuilder().withNewMetadata().withName("node1").endMetadata().build());
  }

  @Test
  void finalizerIsThereBeforeThePodAndNothingIsWrittenTwice() {
    cluster.put(vm("running: true", FREE));
    reconciler.reconcile(KEY);
    assertThat(cluster.writes)
        .containsExactly(
            "finalizers [platter.dev/pod]", "create pod", "event Created", "status Pending");
    cluster.pods.replaceAll((_, pod) -> running(pod));
    cluster.writes.clear();
    reconciler.reconcile(KEY);
    assertThat(cluster.writes).containsExactly("event Running", "status Running");
    reconciler.reconcile(KEY);
    assertThat(cluster.writes).hasSize(2);
  }

  @Test
  void aVmThatHasMovedIsInItsOtherPodAndIsStartedUnderItsOwnNameWhenThatIsGone() {
    var vm = finalized(vm("running: true", FREE));
    vm.setStatus(
        new VmStatus(
            VmPhase.RUNNING,
            List.of(),
            "node1",
            List.of(),
            List.of(),
            "web-moved",
            null,
            "web-moved",
            3L,
            null));
    cluster.put(vm);
    var moved = running(pod(vm));
    moved.getMetadata().setName("web-moved");
    cluster.pods.put("shop/web-moved", moved);
    reconciler.reconcile(KEY);
    assertThat(cluster.writes).doesNotContain("create pod");

    vm.setStatus(
        new VmStatus(
            VmPhase.RUNNING,
            List.of(),
            "node1",
            List.of(),
            List.of(),
            "web-moved",
            null,
            "web-moved",
            3L,
            null));
    cluster.pods.clear();
    reconciler.reconcile(KEY);
    assertThat(cluster.writes).endsWith("pod gone").doesNotContain("create pod");
    reconciler.reconcile(KEY);
    assertThat(cluster.pods).containsOnlyKeys(KEY);
  }

  @Test
  void disksThatTheNodeWroteAreNeitherTakenNorAReasonToWrite() {
    var vm = finalized(vm("running: true", FREE));
    cluster.put(vm);
    cluster.pods.put(KEY, running(pod(vm)));
    reconciler.reconcile(KEY);
    var is = VmStatus.of(vm);
    assertThat(is.disks()).isEmpty();
    var disk =
        new VmStatus.DiskStatus("root", null, null, 1L, java.util.List.of(), null, null, null);
    vm.setStatus(
        new VmStatus(
            is.phase(),
            is.conditions(),
            is.nodeName(),
            is.sources(),
            java.util.List.of(disk),
            is.observedGeneration()));
    cluster.writes.clear();
    reconciler.reconcile(KEY);
    assertThat(cluster.writes).isEmpty();
  }

  @Test
  void podThatTheInformerDoesNotShowYetIsTakenForWhatItIs() {
    var vm = finalized(vm("running: true", FREE));
    cluster.put(vm);
    cluster.pods.put(KEY, running(pod(vm)));
    cluster.podsHidden = true;
    reconciler.reconcile(KEY);
    assertThat(VmStatus.of(vm).ready()).isTrue();
  }

  @Test
  void strangersPodIsToldAndLeftAlone() {
    var vm = finalized(vm("running: true", FREE));
    cluster.put(vm);
    var foreign =
        new PodBuilder().withNewMetadata().withNamespace("shop").withName("web").endMetadata();
    cluster.pods.put(KEY, foreign.build());
    cluster.podsHidden = true;
    assertThat(reconciler.reconcile(KEY)).isEqualTo(VmRules.NAME_WAIT);
    assertThat(cluster.writes).contains("event PodExists").doesNotContain("delete pod");
  }

  @Test
  void podThatTheServerRefusesIsToldAndTriedAgain() {
    var vm = finalized(vm("running: true", FREE));
    cluster.put(vm);
    cluster.refusal = 403;
    for (var i = 0; i < 2; i++) {
      assertThatThrownBy(() -> reconciler.reconcile(KEY))
          .isInstanceOf(KubernetesClientException.class);
    }
    var ready = VmStatus.of(vm).condition(Condition.READY);
    assertThat(ready.reason()).isEqualTo("Refused");
    assertThat(ready.message()).contains("no such luck");
    assertThat(cluster.writes)
        .containsExactly("create pod", "event Refused", "status Pending", "create pod");
  }

  @Test
  void restartIsCountedFromOnePodToTheNext() {
    var vm = finalized(vm("running: true", FREE));
    cluster.put(vm);
    cluster.pods.put(KEY, ended(pod(vm), 1, 600, 1, 4));
    reconciler.reconcile(KEY);
    assertThat(cluster.pods).isEmpty();
    reconciler.reconcile(KEY);
    assertThat(new PodView(cluster.pods.get(KEY)).restarts()).isEqualTo(5);
  }

  @Test
  void aNodeThatIsGoneIsNotWaitedFor() {
    var vm = vm("running: true", FREE);
    vm.getMetadata()
        .setFinalizers(
            List.of(
                Names.FINALIZER,
                Names.finalizer("node1"),
                Names.finalizer("node9"),
                Names.finalizer("n".repeat(64))));
    vm.getMetadata().setDeletionTimestamp("2026-01-01T00:00:00Z");
    cluster.put(vm);
    reconciler.reconcile(KEY);
    assertThat(cluster.writes)
        .containsExactly(
            "event DisksAbandoned",
            "finalizers [platter.dev/pod, disks.platter.dev/node1, "
                + Names.finalizer("n".repeat(64))
                + "]");
  }

  @Test
  void finalizerStaysWhileAPodExistsThatTheInformerDoesNotShow() {
    var vm = deleted(vm("running: true", KEPT));
    cluster.put(vm);
    cluster.pods.put(KEY, pod(vm));
    cluster.podsHidden = true;
    assertThatThrownBy(() -> reconciler.reconcile(KEY))
        .isInstanceOf(KubernetesClientException.class);
    assertThat(vm.getMetadata().getFinalizers()).hasSize(1);
    cluster.pods.clear();
    reconciler.reconcile(KEY);
    assertThat(vm.getMetadata().getFinalizers()).isEmpty();
  }
}
