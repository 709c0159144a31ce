package dev.platter.cluster.controller;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.platter.cluster.api.Condition;
import dev.platter.cluster.api.DataVolume;
import dev.platter.cluster.api.Names;
import dev.platter.cluster.api.Reason;
import dev.platter.cluster.api.VirtualMachine;
import dev.platter.cluster.api.VirtualMachineGroup;
import dev.platter.cluster.api.VmPhase;
import dev.platter.cluster.api.VmStatus;
import io.fabric8.kubernetes.api.model.ObjectMetaBuilder;
import io.fabric8.kubernetes.api.model.Pod;
import io.fabric8.kubernetes.api.model.PodBuilder;
import io.fabric8.kubernetes.client.utils.Serialization;
import java.time.Instant;
import java.util.List;

/** Objects for tests, as a server would show them. */
final class Objects {
  static final Instant NOW = Instant.parse("2026-01-01T00:00:00Z");

  static final String FREE = "- {name: root, source: {image: 'registry.example/debian:12'}}";
  static final String KEPT = "- {name: root, source: {blank: {}}, size: 1Gi, keep: true}";

  private Objects() {}

  /** As it is written, in the namespace of all others. */
  static DataVolume dataVolume(String spec) {
    var out = new DataVolume();
    out.setMetadata(new ObjectMetaBuilder().withName("root").withNamespace("shop").build());
    try {
      out.setSpec(new DataVolume.Spec((ObjectNode) Serialization.yamlMapper().readTree(spec)));
    } catch (JsonProcessingException e) {
      throw new AssertionError(spec, e);
    }
    return out;
  }

  static VirtualMachine vm(String fields, String disks) {
    var yaml =
        """
        apiVersion: platter.dev/v1alpha1
        kind: VirtualMachine
        metadata:
          name: web
          namespace: shop
          uid: 11111111-1111-1111-1111-111111111111
          generation: 3
          resourceVersion: "7"
          labels: {app: shop}
        spec:
          %s
          domain:
            cpu: {cores: 2}
            memory: {guest: 1Gi}
            devices:
              disks:
              %s
        """;
    return Serialization.unmarshal(yaml.formatted(fields, disks), VirtualMachine.class);
  }

  static VirtualMachine finalized(VirtualMachine vm) {
    vm.getMetadata().setFinalizers(List.of(Names.FINALIZER));
    return vm;
  }

  static VirtualMachine deleted(VirtualMachine vm) {
    vm.getMetadata().setDeletionTimestamp("2026-01-01T00:00:00Z");
    return finalized(vm);
  }

  static VirtualMachine ranOn(String node, VirtualMachine vm) {
    vm.setStatus(new VmStatus(VmPhase.STOPPED, List.of(), node, List.of(), List.of(), 3L));
    return vm;
  }

  static VirtualMachine ready(VirtualMachine vm) {
    var ready = new Condition(Condition.READY, "True", Reason.RUNNING.word(), "", null, 3L);
    vm.setStatus(new VmStatus(VmPhase.RUNNING, List.of(ready), "node1", List.of(), List.of(), 3L));
    return vm;
  }

  static void hasMoved(VirtualMachine vm) {
    var was = VmStatus.of(vm);
    var pod = "web-aaaaaaaa";
    vm.setStatus(
        new VmStatus(
            was.phase(),
            was.conditions(),
            "node2",
            was.sources(),
            List.of(),
            pod,
            null,
            pod,
            was.observedGeneration(),
            null));
  }

  /** The pod that the rules make for the VM. */
  static Pod pod(VirtualMachine vm) {
    var spec = VmSpec.of(vm);
    var pod = VmPod.of(vm, spec, spec.read(vm), null, 0);
    return new PodBuilder(pod).editMetadata().withResourceVersion("9").endMetadata().build();
  }

  static Pod on(String node, Pod pod) {
    return new PodBuilder(pod).editSpec().withNodeName(node).endSpec().build();
  }

  static Pod running(Pod pod) {
    return new PodBuilder(on("node1", pod))
        .withNewStatus()
        .withPhase("Running")
        .addNewCondition()
        .withType(Names.RUNNING_GATE)
        .withStatus("True")
        .endCondition()
        .endStatus()
        .build();
  }

  static Pod deleting(Pod pod) {
    return new PodBuilder(pod)
        .editMetadata()
        .withDeletionTimestamp("2026-01-01T00:00:00Z")
        .endMetadata()
        .build();
  }

  /** What the node says of the guest. */
  static Pod saying(Reason reason, Pod pod) {
    return new PodBuilder(pod)
        .editStatus()
        .addNewCondition()
        .withType(Names.RUNNING_GATE)
        .withReason(reason.word())
        .endCondition()
        .endStatus()
        .build();
  }

  /** A pod that ended {@code ago} seconds ago, after it had run for a while. */
  static Pod ended(Pod pod, int exit, long ago, long ran, int restarts) {
    var end = NOW.minusSeconds(ago);
    return new PodBuilder(on("node1", pod))
        .editMetadata()
        .addToAnnotations(VmPod.RESTARTS, Integer.toString(restarts))
        .endMetadata()
        .withNewStatus()
        .withPhase(exit == 0 ? "Succeeded" : "Failed")
        .addNewContainerStatus()
        .withNewState()
        .withNewTerminated()
        .withExitCode(exit)
        .withStartedAt(end.minusSeconds(ran).toString())
        .withFinishedAt(end.toString())
        .endTerminated()
        .endState()
        .endContainerStatus()
        .endStatus()
        .build();
  }

  static VirtualMachineGroup group(int replicas, String disks) {
    var yaml =
        """
        apiVersion: platter.dev/v1alpha1
        kind: VirtualMachineGroup
        metadata: {name: web, namespace: shop, uid: 22222222-2222-2222-2222-222222222222}
        spec:
          replicas: %d
          selector: {matchLabels: {app: shop}}
          template:
            metadata:
              labels: {app: shop, tier: front}
            spec:
              domain:
                devices:
                  disks:
                  %s
        """;
    return Serialization.unmarshal(yaml.formatted(replicas, disks), VirtualMachineGroup.class);
  }
}
