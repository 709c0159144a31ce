package dev.platter.cluster.controller;

import static dev.platter.cluster.controller.Objects.FREE;
import static dev.platter.cluster.controller.Objects.vm;
import static org.assertj.core.api.Assertions.assertThat;

import dev.platter.cluster.api.Names;
import dev.platter.cluster.api.VirtualMachine;
import dev.platter.dialect.Manifests;
import io.fabric8.kubernetes.api.model.ContainerPort;
import io.fabric8.kubernetes.api.model.Pod;
import org.junit.jupiter.api.Test;

class VmPodTest {
  private static final String CLUSTER_ONLY =
      """
      running: true
        restartPolicy: OnFailure
        nodeSelector: {disk: fast}
        tolerations: [{key: vms, operator: Exists}]
        imagePullSecrets: [{name: pull}]
        serviceAccountName: shop
        ports: [{name: http, port: 80}, {port: 53, protocol: UDP}]
        terminationGracePeriodSeconds: 90
        affinity:
          nodeAffinity:
            requiredDuringSchedulingIgnoredDuringExecution:
              nodeSelectorTerms:
              - matchExpressions: [{key: zone, operator: In, values: [a]}]
              - matchExpressions: [{key: zone, operator: In, values: [b]}]
      """;

  private static Pod pod(VirtualMachine vm, String home) {
    var spec = VmSpec.of(vm);
    return VmPod.of(vm, spec, spec.read(vm), home, 3);
  }

  @Test
  void podCarriesTheVmAsTheCommandLineReadsItToo() {
    var pod = pod(vm(CLUSTER_ONLY.strip(), FREE), null);
    var text = pod.getMetadata().getAnnotations().get(Names.VM);
    var read = Manifests.read("test", text).getFirst();
    assertThat(read.name()).isEqualTo("web");
    assertThat(read.namespace()).isEqualTo("shop");
    assertThat(read.cpus()).isEqualTo(2);
    assertThat(text).contains("11111111-1111").doesNotContain("tolerations", "running");
  }

  @Test
  void podIsTheVmsOwnAndFoundByItsLabels() {
    var vm = vm("running: true", FREE);
    var pod = pod(vm, null);
    assertThat(VmPod.ownedBy(vm, pod)).isTrue();
    assertThat(pod.getMetadata().getName()).isEqualTo("web");
    assertThat(pod.getMetadata().getLabels())
        .containsEntry("app", "shop")
        .containsEntry(Names.VM_NAME, "web");
    var owner = pod.getMetadata().getOwnerReferences().getFirst();
    assertThat(owner.getApiVersion()).isEqualTo("platter.dev/v1alpha1");
    assertThat(owner.getKind()).isEqualTo("VirtualMachine");
    assertThat(owner.getBlockOwnerDeletion()).isTrue();
  }

  @Test
  void whatOnlyAClusterKnowsIsThePods() {
    var spec = pod(vm(CLUSTER_ONLY.strip(), FREE), null).getSpec();
    assertThat(spec.getRestartPolicy()).isEqualTo("Never");
    assertThat(spec.getNodeSelector()).containsEntry("disk", "fast");
    assertThat(spec.getTolerations().getFirst().getKey()).isEqualTo("vms");
    assertThat(spec.getImagePullSecrets().getFirst().getName()).isEqualTo("pull");
    assertThat(spec.getServiceAccountName()).isEqualTo("shop");
    assertThat(spec.getTerminationGracePeriodSeconds()).isEqualTo(90);
    var ports = spec.getContainers().getFirst().getPorts();
    assertThat(ports).extracting(ContainerPort::getContainerPort).containsExactly(80, 53);
    assertThat(ports).extracting(ContainerPort::getName).containsExactly("http", null);
    assertThat(ports).extracting(ContainerPort::getProtocol).containsExactly(null, "UDP");
    var resources = spec.getContainers().getFirst().getResources();
    assertThat(resources.getLimits().get("memory").getNumericalAmount())
        .isEqualByComparingTo("1073741824");
    assertThat(resources.getRequests().get("cpu").getNumericalAmount()).isEqualByComparingTo("0.2");
    assertThat(resources.getLimits()).doesNotContainKey("cpu");
  }

  @Test
  void nodeOfKeptDisksIsInEachAlternativeOfTheAffinity() {
    var terms =
        pod(vm(CLUSTER_ONLY.strip(), FREE), "node1")
            .getSpec()
            .getAffinity()
            .getNodeAffinity()
            .getRequiredDuringSchedulingIgnoredDuringExecution()
            .getNodeSelectorTerms();
    assertThat(terms).hasSize(2);
    assertThat(terms)
        .allSatisfy(
            term -> {
              assertThat(term.getMatchExpressions()).hasSize(1);
              assertThat(term.getMatchFields().getFirst().getValues()).containsExactly("node1");
            });
  }

  @Test
  void versionDependsOnWhatIsWrittenAndNotOnItsOrder() {
    var one = VmSpec.of(vm("nodeSelector: {a: x, b: y}", FREE)).version();
    var same = VmSpec.of(vm("nodeSelector: {b: y, a: x}", FREE)).version();
    var other = VmSpec.of(vm("nodeSelector: {b: z, a: x}", FREE)).version();
    assertThat(same).isEqualTo(one);
    assertThat(other).isNotEqualTo(one);
  }
}
