package dev.platter.cluster.controller;

import static dev.platter.cluster.controller.Objects.NOW;
import static dev.platter.cluster.controller.Objects.finalized;
import static dev.platter.cluster.controller.Objects.vm;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.platter.cluster.api.Condition;
import dev.platter.cluster.api.Names;
import dev.platter.cluster.api.VirtualMachine;
import dev.platter.cluster.api.VmPhase;
import dev.platter.cluster.api.VmStatus;
import io.fabric8.kubernetes.api.model.NodeBuilder;
import io.fabric8.kubernetes.api.model.Pod;
import io.fabric8.kubernetes.api.model.PodBuilder;
import io.fabric8.kubernetes.client.KubernetesClientException;
import io.fabric8.kubernetes.client.utils.Serialization;
import java.time.Instant;
import java.util.Base64;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Images that serve disks, from the first look at a VM to its end. */
class WrappersTest {
  private static final String KEY = "shop/web";
  private static final String DISKS =
      "- {name: root, type: 'ContainerRegistryDisk:v1alpha', source: {name: 'a.example/f:1'},"
          + " serve: iscsi}";

  private final FakeCluster cluster = new FakeCluster();
  private Instant now = NOW;

  private final VmReconciler reconciler =
      new VmReconciler(
          cluster,
          cluster,
          new Sources(
              cluster,
              cluster,
              new VolumeCalls((_, _, _) -> null, Runnable::run, () -> now),
              _ -> {},
              () -> now),
          new Wrappers(cluster, cluster, () -> now),
          () -> now);

  @BeforeEach
  void aNode() {
    cluster.nodes.put(
        "node1", new NodeBuilder().withNewMetadata().withName("node1").endMetadata().build());
  }

  private VirtualMachine put(String fields) {
    var vm = finalized(vm(fields, DISKS));
    cluster.put(vm);
    return vm;
  }

  private static String name(VirtualMachine vm) {
    return "shop/" + SourcePod.name(vm, "root");
  }

  private Pod wrapper(VirtualMachine vm) {
    return cluster.pods.get(name(vm));
  }

  private void look(int times) {
    for (var i = 0; i < times; i++) {
      reconciler.reconcile(KEY);
    }
  }

  private void phase(VirtualMachine vm, String phase, boolean ready) {
    cluster.pods.computeIfPresent(
        name(vm),
        (_, pod) ->
            new PodBuilder(pod)
                .editMetadata()
                .withCreationTimestamp(NOW.toString())
                .endMetadata()
                .withNewStatus()
                .withPhase(phase)
                .withPodIP("10.0.0.7")
                .addNewCondition()
                .withType("Ready")
                .withStatus(ready ? "True" : "False")
                .withLastTransitionTime(NOW.toString())
                .endCondition()
                .endStatus()
                .build());
  }

  private VirtualMachine started(String fields) {
    var vm = put(fields);
    look(2);
    phase(vm, "Running", true);
    look(2);
    assertThat(cluster.pods).containsKey(KEY);
    return vm;
  }

  private static String reason(VirtualMachine vm) {
    return VmStatus.of(vm).condition(Condition.READY).reason();
  }

  private static String target(VirtualMachine vm) {
    return VmStatus.of(vm).sources().getFirst().volume();
  }

  private String password() {
    var data = cluster.secrets.getLast().getData().values();
    return new String(Base64.getDecoder().decode(data.iterator().next()));
  }

  @Test
  void theImageRunsInAPodOfTheVmsOwnAndIsNeverStartedASecondTime() {
    var vm = put("running: true");
    look(2);
    var pod = wrapper(vm);
    assertThat(pod.getMetadata().getOwnerReferences().getFirst().getUid())
        .isEqualTo(vm.getMetadata().getUid());
    assertThat(pod.getSpec().getRestartPolicy()).isEqualTo("Never");
    assertThat(pod.getSpec().getAutomountServiceAccountToken()).isFalse();
    assertThat(pod.getSpec().getContainers().getFirst().getImage()).isEqualTo("a.example/f:1");
    assertThat(cluster.pods).doesNotContainKey(KEY);
    assertThat(reason(vm)).isEqualTo("WaitingForSource");
    var secret = cluster.secrets.getFirst();
    assertThat(secret.getMetadata().getOwnerReferences().getFirst().getUid())
        .isEqualTo(pod.getMetadata().getUid());
    assertThat(password()).hasSize(32);
    assertThat(pod.toString()).contains(secret.getMetadata().getName()).doesNotContain(password());
  }

  @Test
  void theVmsPodHasTheTargetInThePlaceOfTheImage() {
    var vm = started("running: true");
    assertThat(cluster.pods.get(KEY).getMetadata().getAnnotations().get(Names.VM))
        .contains("\"host\":{\"name\":\"10.0.0.7\",\"port\":3260}", target(vm))
        .contains("\"secret\":{\"name\":\"" + cluster.secrets.getFirst().getMetadata().getName())
        .doesNotContain("ContainerRegistryDisk", "serve", password());
    assertThat(VmStatus.of(vm).toString()).doesNotContain(password());
    assertThat(VmStatus.of(vm).sources().getFirst().pod())
        .isEqualTo(wrapper(vm).getMetadata().getName());
  }

  @Test
  void aGroupHasOneForEachOfItsVms() {
    var group = Objects.group(2, DISKS);
    cluster.groups.put(KEY, group);
    new GroupReconciler(cluster, cluster, () -> now).reconcile(KEY);
    assertThat(cluster.vms).hasSize(2);
  }

  /** However the VM's pod went, and whoever saw it: what was served to it is served to no other. */
  @Test
  void theNextStartHasAnotherPodTargetAndPassword() {
    var vm = started("running: true");
    var first = wrapper(vm).getMetadata().getUid();
    var target = target(vm);
    var password = password();
    cluster.pods.remove(KEY);
    look(4);
    assertThat(cluster.pods).doesNotContainKey(KEY);
    phase(vm, "Running", true);
    look(2);
    assertThat(wrapper(vm).getMetadata().getUid()).isNotEqualTo(first);
    assertThat(target(vm)).isNotEqualTo(target);
    assertThat(password()).isNotEqualTo(password);
    assertThat(cluster.pods.get(KEY).toString()).contains(target(vm)).doesNotContain(target);
  }

  /** The mark is there before the pod is; who may have seen an older VM makes none. */
  @Test
  void itIsGivenToOnePodAtMostEvenByAControllerThatIsBehind() {
    var vm = put("running: true");
    look(2);
    phase(vm, "Running", true);
    cluster.behind = true;
    assertThatThrownBy(() -> look(1)).isInstanceOf(KubernetesClientException.class);
    assertThat(cluster.pods).doesNotContainKey(KEY);
    cluster.behind = false;
    cluster.writes.clear();
    look(1);
    assertThat(cluster.writes.subList(0, 2)).containsExactly("status Pending", "create pod");
  }

  @Test
  void aPodThatIsRefusedUsesNothingUp() {
    var vm = put("running: true");
    look(2);
    phase(vm, "Running", true);
    var first = wrapper(vm).getMetadata().getUid();
    cluster.refusal = 403;
    for (var i = 0; i < 3; i++) {
      assertThatThrownBy(() -> look(1)).hasMessageContaining("no such luck");
    }
    assertThat(reason(vm)).isEqualTo("Refused");
    cluster.refusal = 0;
    look(1);
    assertThat(wrapper(vm).getMetadata().getUid()).isEqualTo(first);
    assertThat(cluster.pods).containsKey(KEY);
  }

  @ParameterizedTest
  @CsvSource({"Failed, has ended", "gone, is gone", "deleting, is being removed"})
  void aGuestWhoseDiskIsGoneIsEndedAndTheVmSaysWhy(String how, String words) {
    var vm = started("running: true");
    var target = target(vm);
    cluster.pods.computeIfPresent(KEY, (_, pod) -> Objects.running(pod));
    look(1);
    assertThat(reason(vm)).isEqualTo("Running");
    switch (how) {
      case "gone" -> cluster.pods.remove(name(vm));
      case "deleting" -> cluster.pods.computeIfPresent(name(vm), (_, p) -> Objects.deleting(p));
      default -> phase(vm, how, false);
    }
    look(1);
    assertThat(reason(vm)).isEqualTo("DiskLost");
    assertThat(VmStatus.of(vm).condition(Condition.READY).message()).contains("disk root " + words);
    assertThat(cluster.pods).doesNotContainKey(KEY);
    assertThat(cluster.writes).contains("event DiskLost");
    cluster.pods.remove(name(vm));
    look(3);
    phase(vm, "Running", true);
    look(1);
    assertThat(cluster.pods.get(KEY).toString()).doesNotContain(target);
  }

  private void startAndLose(VirtualMachine vm) {
    for (var i = 0; i < 5 && wrapper(vm) == null; i++) {
      look(1);
    }
    phase(vm, "Running", true);
    look(1);
    assertThat(cluster.pods).containsKey(KEY);
    phase(vm, "Failed", false);
    look(1);
    assertThat(reason(vm)).isEqualTo("DiskLost");
    cluster.pods.remove(KEY);
    cluster.pods.remove(name(vm));
  }

  @Test
  void aVmThatLosesItsDiskAgainAndAgainIsStartedLessAndLessOften() {
    var vm = put("running: true");
    startAndLose(vm);
    startAndLose(vm);
    look(1);
    assertThat(VmStatus.of(vm).condition(Condition.READY).message()).contains("started again at");
    assertThat(reconciler.reconcile(KEY)).isEqualTo(VmRules.SHORTEST_WAIT);
    now = now.plus(VmRules.SHORTEST_WAIT);
    startAndLose(vm);
    look(1);
    assertThat(reconciler.reconcile(KEY)).isEqualTo(VmRules.SHORTEST_WAIT.multipliedBy(2));
  }

  @Test
  void aVmThatIsNotRestartedStaysFailedUntilSomebodyStopsIt() {
    var vm = started("restartPolicy: Never");
    phase(vm, "Failed", false);
    look(5);
    assertThat(VmStatus.of(vm).phase()).isEqualTo(VmPhase.FAILED);
    assertThat(reason(vm)).isEqualTo("DiskLost");
    assertThat(cluster.pods).isEmpty();
    assertThat(VmStatus.of(vm).sources()).isEmpty();
    vm.setSpec(vm("running: false", DISKS).getSpec());
    look(1);
    vm.setSpec(vm("restartPolicy: Never", DISKS).getSpec());
    look(2);
    assertThat(wrapper(vm)).isNotNull();
  }

  @Test
  void oneThatEndsBeforeItIsUsedIsToldAndTriedAgain() {
    var vm = put("running: true");
    look(2);
    phase(vm, "Failed", false);
    var first = wrapper(vm).getMetadata().getUid();
    assertThat(reconciler.reconcile(KEY)).isEqualTo(Wrappers.RETRY);
    assertThat(reason(vm)).isEqualTo("Unavailable");
    assertThat(VmStatus.of(vm).condition(Condition.READY).message())
        .contains("FROM platter.dev/disk");
    now = NOW.plus(Wrappers.RETRY);
    look(2);
    assertThat(wrapper(vm).getMetadata().getUid()).isNotEqualTo(first);
  }

  @Test
  void itGoesAfterTheVmsPodAndBeforeTheVm() {
    var vm = started("running: true");
    vm.getMetadata().setDeletionTimestamp(NOW.toString());
    cluster.podsHidden = true;
    look(1);
    assertThat(wrapper(vm)).as("while the informer is behind").isNotNull();
    cluster.podsHidden = false;
    cluster.pods.remove(KEY);
    look(1);
    assertThat(cluster.pods).isEmpty();
    assertThat(vm.getMetadata().getFinalizers()).isNotEmpty();
    look(2);
    assertThat(vm.getMetadata().getFinalizers()).isEmpty();
  }

  @Test
  void anotherImageIsServedIfTheVmNamesAnotherBeforeItStarts() {
    var vm = put("running: true");
    look(2);
    vm.setSpec(vm("running: true", DISKS.replace("f:1", "f:2")).getSpec());
    look(2);
    assertThat(wrapper(vm).getSpec().getContainers().getFirst().getImage())
        .isEqualTo("a.example/f:2");
  }

  @Test
  void aGuestWhoseDiskAnInformerDoesNotShowRunsOn() {
    var vm = started("running: true");
    cluster.pods.computeIfPresent(KEY, (_, pod) -> Objects.running(pod));
    cluster.sourcesHidden = true;
    look(1);
    assertThat(reason(vm)).isEqualTo("Running");
    assertThat(cluster.pods).containsKeys(KEY, name(vm));
  }

  /** The pod that it left has ended, and the informer does not know yet that it has left it. */
  @Test
  void theDiskOfAVmThatHasJustMovedStays() {
    var vm = started("running: true");
    cluster.pods.put("shop/web-aaaaaaaa", Objects.running(cluster.pods.get(KEY)));
    cluster.pods.computeIfPresent(
        KEY,
        (_, pod) -> new PodBuilder(pod).withNewStatus().withPhase("Succeeded").endStatus().build());
    cluster.seen.put(KEY, Serialization.clone(vm));
    Objects.hasMoved(vm);
    vm.getMetadata().setResourceVersion("2");
    try {
      look(1);
    } catch (KubernetesClientException e) {
      assertThat(e.getCode()).isEqualTo(409);
    }
    assertThat(cluster.pods).containsKey(name(vm));
  }
}
