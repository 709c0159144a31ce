package dev.platter.cluster.controller;

import static dev.platter.cluster.controller.Objects.NOW;
import static dev.platter.cluster.controller.Objects.finalized;
import static dev.platter.cluster.controller.Objects.vm;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowable;

import dev.platter.cluster.api.Condition;
import dev.platter.cluster.api.Names;
import dev.platter.cluster.api.VirtualMachine;
import dev.platter.cluster.api.VmStatus;
import dev.platter.model.ClaimSource;
import dev.platter.model.PlatterException;
import dev.platter.model.PlatterException.Code;
import dev.platter.model.Source;
import io.fabric8.kubernetes.api.model.Pod;
import io.fabric8.kubernetes.api.model.PodBuilder;
import io.fabric8.kubernetes.client.utils.Serialization;
import java.io.IOException;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Volumes that containers make, from the first look at a VM to its end. */
class SourcesTest {
  private static final String KEY = "shop/web";
  private static final String DISKS =
      "- {name: root, source: {image: 'registry.example/debian:12'}}\n"
          + "      - {name: data, source: {container: {image: 'registry.example/maker:1',"
          + " env: [{name: SIZE, value: 10Gi}], securityContext: {runAsNonRoot: true},"
          + " readinessProbe: {httpGet: {path: /ready}}}}}";

  private final FakeCluster cluster = new FakeCluster();
  private final List<String> requests = new ArrayList<>();
  private Instant now = NOW;
  private PlatterException failure;

  private final VmReconciler reconciler =
      new VmReconciler(
          cluster,
          cluster,
          new Sources(
              cluster,
              cluster,
              new VolumeCalls(this::send, Runnable::run, () -> now),
              _ -> {},
              () -> now),
          new Wrappers(cluster, cluster, () -> now),
          () -> now);

  private Source send(Pod pod, String volume, VolumeCalls.Kind kind) throws IOException {
    requests.add(kind.name());
    assertThat(volume).isEqualTo(SourcePod.volume(cluster.vms.get(KEY), "data"));
    if (failure != null) {
      throw failure;
    }
    return kind == VolumeCalls.Kind.PUT ? new ClaimSource("made") : null;
  }

  private VirtualMachine put() {
    var vm = finalized(vm("running: true", DISKS));
    cluster.put(vm);
    return vm;
  }

  private static String name(VirtualMachine vm) {
    return "shop/" + SourcePod.name(vm, "data");
  }

  private void ready(VirtualMachine vm) {
    cluster.pods.computeIfPresent(
        name(vm),
        (_, pod) ->
            new PodBuilder(pod)
                .editMetadata()
                .withCreationTimestamp(NOW.toString())
                .endMetadata()
                .withNewStatus()
                .withPhase("Running")
                .withPodIP("10.0.0.7")
                .addNewCondition()
                .withType("Ready")
                .withStatus("True")
                .endCondition()
                .endStatus()
                .build());
  }

  private VirtualMachine started() {
    var vm = put();
    reconciler.reconcile(KEY);
    ready(vm);
    for (var i = 0; i < 6; i++) {
      reconciler.reconcile(KEY);
    }
    return vm;
  }

  private static String reason(VirtualMachine vm) {
    return VmStatus.of(vm).condition(Condition.READY).reason();
  }

  private void delete(VirtualMachine vm) {
    cluster.pods.remove(KEY);
    vm.getMetadata().setDeletionTimestamp(NOW.toString());
  }

  @Test
  void theContainerRunsInAPodOfTheVmsOwnWithItsKeyInASecretOfThatPod() {
    var vm = put();
    reconciler.reconcile(KEY);
    var pod = cluster.pods.get(name(vm));
    assertThat(pod.getMetadata().getOwnerReferences().getFirst().getUid())
        .isEqualTo(vm.getMetadata().getUid());
    assertThat(pod.getMetadata().getOwnerReferences().getFirst().getBlockOwnerDeletion()).isNull();
    var container = pod.getSpec().getContainers().getFirst();
    assertThat(container.getImage()).isEqualTo("registry.example/maker:1");
    assertThat(container.getSecurityContext().getRunAsNonRoot()).isTrue();
    assertThat(container.getReadinessProbe().getHttpGet().getScheme()).isEqualTo("HTTPS");
    assertThat(container.getReadinessProbe().getHttpGet().getPort().getIntVal()).isEqualTo(8443);
    assertThat(container.getEnv())
        .extracting(variable -> variable.getName())
        .containsExactly("SIZE", "PORT", "PLATTER_LISTEN", "PLATTER_VOLUME", "PLATTER_TLS");
    var secret = cluster.secrets.getFirst();
    assertThat(pod.getSpec().getVolumes().getFirst().getSecret().getSecretName())
        .isEqualTo(secret.getMetadata().getName());
    assertThat(secret.getMetadata().getOwnerReferences().getFirst().getUid())
        .isEqualTo(pod.getMetadata().getUid());
    assertThat(secret.getData()).containsOnlyKeys("tls.key", "tls.crt", "ca.crt");
    assertThat(pod.getMetadata().getAnnotations().get(Names.SOURCE_AUTHORITY))
        .contains("BEGIN CERTIFICATE")
        .doesNotContain("PRIVATE");
    assertThat(cluster.pods).doesNotContainKey(KEY);
    assertThat(reason(vm)).isEqualTo("WaitingForSource");
  }

  @Test
  void theVmsPodHasTheAnswerInThePlaceOfTheContainer() {
    var vm = started();
    assertThat(requests).containsExactly("READY", "PUT");
    assertThat(cluster.pods.get(KEY).getMetadata().getAnnotations().get(Names.VM))
        .contains("\"source\":{\"pvc\":{\"claimname\":\"made\"}}")
        .doesNotContain("maker:1");
    assertThat(VmStatus.of(vm).sources().getFirst().answer())
        .isEqualTo("{\"pvc\":{\"claimname\":\"made\"}}");
  }

  /** Else a controller that is killed meanwhile would leave a volume that nobody knows of. */
  @Test
  void whoIsAskedIsWrittenDownBefore() {
    var vm = put();
    reconciler.reconcile(KEY);
    ready(vm);
    reconciler.reconcile(KEY);
    reconciler.reconcile(KEY);
    assertThat(requests).containsExactly("READY");
    assertThat(VmStatus.of(vm).sources()).hasSize(1);
    assertThat(VmStatus.of(vm).sources().getFirst().answer()).isNull();
  }

  @Test
  void aRefusalIsToldAndTheContainerAskedAgainAfterAWhile() {
    var vm = put();
    reconciler.reconcile(KEY);
    ready(vm);
    reconciler.reconcile(KEY);
    reconciler.reconcile(KEY);
    failure = PlatterException.of(Code.REFUSED, "no quota left", "");
    for (var i = 0; i < 5; i++) {
      reconciler.reconcile(KEY);
    }
    assertThat(reason(vm)).isEqualTo("Refused");
    assertThat(VmStatus.of(vm).condition(Condition.READY).message()).contains("no quota left");
    assertThat(requests).containsExactly("READY", "PUT");
    failure = null;
    now = now.plus(VolumeCalls.PAUSE);
    for (var i = 0; i < 3; i++) {
      reconciler.reconcile(KEY);
    }
    assertThat(cluster.pods).containsKey(KEY);
  }

  @Test
  void theVolumeGoesAfterTheDisksOnNodesAndBeforeTheVm() {
    var vm = started();
    delete(vm);
    vm.getMetadata().setFinalizers(List.of(Names.FINALIZER, Names.finalizer("node1")));
    cluster.nodes.put("node1", new io.fabric8.kubernetes.api.model.Node());
    reconciler.reconcile(KEY);
    assertThat(requests).doesNotContain("DELETE");
    vm.getMetadata().setFinalizers(List.of(Names.FINALIZER));
    reconciler.reconcile(KEY);
    assertThat(vm.getMetadata().getFinalizers()).isNotEmpty();
    for (var i = 0; i < 3; i++) {
      reconciler.reconcile(KEY);
    }
    assertThat(requests).containsExactly("READY", "PUT", "DELETE");
    assertThat(cluster.pods).isEmpty();
    assertThat(vm.getMetadata().getFinalizers()).isEmpty();
  }

  @Test
  void aVmStaysWhileItsContainerWillNotDeleteTheVolume() {
    var vm = started();
    delete(vm);
    failure = PlatterException.of(Code.UNAVAILABLE, "not now", "");
    for (var i = 0; i < 3; i++) {
      reconciler.reconcile(KEY);
    }
    assertThat(vm.getMetadata().getFinalizers()).isNotEmpty();
    assertThat(VmStatus.of(vm).condition(Condition.READY).message()).contains("not now");
  }

  @Test
  void aContainerThatIsGoneIsStartedAgainToDeleteItsVolume() {
    var vm = started();
    delete(vm);
    cluster.pods.clear();
    reconciler.reconcile(KEY);
    assertThat(cluster.pods).containsOnlyKeys(name(vm));
    ready(vm);
    for (var i = 0; i < 4; i++) {
      reconciler.reconcile(KEY);
    }
    assertThat(requests).endsWith("DELETE");
    assertThat(vm.getMetadata().getFinalizers()).isEmpty();
  }

  @Test
  void aContainerWhoseVolumeIsDeletedIsNotStartedAgainOnAnInformersWord() {
    var vm = started();
    delete(vm);
    var before = Serialization.clone(vm);
    for (var i = 0; i < 4; i++) {
      reconciler.reconcile(KEY);
    }
    assertThat(requests).endsWith("DELETE");
    cluster.seen.put(KEY, before);
    var conflict = catchThrowable(() -> reconciler.reconcile(KEY));
    assertThat(cluster.pods).as("pods after " + conflict).isEmpty();
  }

  /** As in a namespace that is being deleted. */
  @Test
  void whereNoPodCanBeMadeAnyMoreTheVolumeIsGivenUpAndSaidToBe() {
    var vm = started();
    delete(vm);
    cluster.pods.clear();
    cluster.refusal = 403;
    for (var i = 0; i < 3; i++) {
      reconciler.reconcile(KEY);
    }
    assertThat(cluster.writes).contains("event VolumeAbandoned");
    assertThat(vm.getMetadata().getFinalizers()).isEmpty();
  }

  @Test
  void aVariableOfPlattersNameIsRefused() {
    var vm = finalized(vm("running: true", DISKS.replace("SIZE", "PLATTER_TLS")));
    cluster.put(vm);
    reconciler.reconcile(KEY);
    assertThat(reason(vm)).isEqualTo("Invalid");
    assertThat(cluster.pods).isEmpty();
  }

  @Test
  void aVmThatIsNotToRunAsksNobody() {
    cluster.put(finalized(vm("running: false", DISKS)));
    reconciler.reconcile(KEY);
    assertThat(cluster.pods).isEmpty();
  }

  @Test
  void theVolumeOfAVmThatHasMovedIsInUse() {
    var vm = started();
    cluster.pods.put("shop/web-aaaaaaaa", cluster.pods.get(KEY));
    Objects.hasMoved(vm);
    delete(vm);
    for (var i = 0; i < 3; i++) {
      reconciler.reconcile(KEY);
    }
    assertThat(requests).doesNotContain("DELETE");
  }
}
