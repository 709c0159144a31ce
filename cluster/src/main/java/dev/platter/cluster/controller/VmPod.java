package dev.platter.cluster.controller;

import dev.platter.cluster.api.Names;
import dev.platter.cluster.api.VirtualMachine;
import dev.platter.model.Vm;
import io.fabric8.kubernetes.api.model.Affinity;
import io.fabric8.kubernetes.api.model.AffinityBuilder;
import io.fabric8.kubernetes.api.model.ContainerPort;
import io.fabric8.kubernetes.api.model.ContainerPortBuilder;
import io.fabric8.kubernetes.api.model.NodeSelectorBuilder;
import io.fabric8.kubernetes.api.model.NodeSelectorRequirement;
import io.fabric8.kubernetes.api.model.NodeSelectorRequirementBuilder;
import io.fabric8.kubernetes.api.model.NodeSelectorTerm;
import io.fabric8.kubernetes.api.model.NodeSelectorTermBuilder;
import io.fabric8.kubernetes.api.model.OwnerReference;
import io.fabric8.kubernetes.api.model.OwnerReferenceBuilder;
import io.fabric8.kubernetes.api.model.Pod;
import io.fabric8.kubernetes.api.model.PodBuilder;
import io.fabric8.kubernetes.api.model.Quantity;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * The pod of a VM, before the webhook makes a launcher pod of it. Without the webhook it can do
 * nothing: its image does not exist.
 */
final class VmPod {
  /** What the VM was when its pod was made, so that a change can be told. */
  static final String VERSION = "platter.dev/spec-version";

  /** How often the VM has ended soon after its start, up to this pod. */
  static final String RESTARTS = "platter.dev/restarts";

  private static final String PLACEHOLDER = "platter.dev/vm";

  /**
   * A guest's processors idle most of the time, so they are not set aside in full; and none of them
   * is a limit, for QEMU's I/O would be held back with them.
   */
  private static final int MILLIS_A_CORE = 100;

  private VmPod() {}

  /**
   * @param home the only node that can run it; null if any can
   */
  static Pod of(VirtualMachine vm, VmSpec spec, Vm machine, @Nullable String home, int restarts) {
    var meta = vm.getMetadata();
    var memory = new Quantity(Long.toString(machine.memory().bytes()));
    var builder =
        new PodBuilder()
            .withNewMetadata()
            .withName(meta.getName())
            .withNamespace(meta.getNamespace())
            .withLabels(labels(vm))
            .addToAnnotations(Names.VM, spec.annotation(vm))
            .addToAnnotations(VERSION, spec.version())
            .addToAnnotations(RESTARTS, Integer.toString(restarts))
            .withOwnerReferences(owner(vm))
            .endMetadata()
            .withNewSpec()
            .withRestartPolicy("Never")
            .withNodeSelector(spec.nodeSelector())
            .withAffinity(affinity(spec.affinity(), home))
            .withTolerations(spec.tolerations())
            .withImagePullSecrets(spec.imagePullSecrets())
            .withServiceAccountName(spec.serviceAccountName())
            .withTerminationGracePeriodSeconds(spec.terminationGracePeriodSeconds())
            .addNewContainer()
            .withName("vm")
            .withImage(PLACEHOLDER)
            .withPorts(ports(spec))
            .withNewResources()
            .addToRequests("cpu", new Quantity(machine.cpus() * MILLIS_A_CORE + "m"))
            .addToRequests("memory", memory)
            .addToLimits("memory", memory)
            .endResources()
            .endContainer()
            .endSpec();
    return builder.build();
  }

  /**
   * The pod that a VM goes to while it runs.
   *
   * @param from the node that it leaves
   * @param to the only node that it can go to; null if any other can have it
   */
  static Pod moved(
      VirtualMachine vm, VmSpec spec, Vm machine, String name, String from, @Nullable String to) {
    var pod = of(vm, spec, machine, to, 0);
    pod.getMetadata().setName(name);
    pod.getMetadata().getAnnotations().put(Names.MOVED_VM, vm.getMetadata().getName());
    pod.getSpec().setAffinity(affinity(pod.getSpec().getAffinity(), "NotIn", from));
    return pod;
  }

  private static List<ContainerPort> ports(VmSpec spec) {
    return spec.ports().stream()
        .map(
            port ->
                new ContainerPortBuilder()
                    .withName(port.name())
                    .withContainerPort(port.port())
                    .withProtocol(port.protocol())
                    .build())
        .toList();
  }

  /** Labels of the VM are its pod's too: services and autoscalers find it by them. */
  private static Map<String, String> labels(VirtualMachine vm) {
    Map<String, String> given = vm.getMetadata().getLabels();
    var labels = given == null ? new TreeMap<String, String>() : new TreeMap<>(given);
    labels.put(Names.VM_NAME, vm.getMetadata().getName());
    return labels;
  }

  static OwnerReference owner(VirtualMachine vm) {
    return new OwnerReferenceBuilder()
        .withApiVersion(vm.getApiVersion())
        .withKind(vm.getKind())
        .withName(vm.getMetadata().getName())
        .withUid(vm.getMetadata().getUid())
        .withController(true)
        .withBlockOwnerDeletion(true)
        .build();
  }

  static boolean ownedBy(VirtualMachine vm, Pod pod) {
    return pod.getMetadata().getOwnerReferences().stream()
        .anyMatch(
            owner ->
                Boolean.TRUE.equals(owner.getController())
                    && owner.getUid().equals(vm.getMetadata().getUid()));
  }

  /**
   * Terms of a node selector are alternatives, so each of them gets the node. By field and not by
   * label: the name of a node is not always the value of its host name label.
   */
  private static @Nullable Affinity affinity(@Nullable Affinity written, @Nullable String home) {
    return home == null ? written : affinity(written, "In", home);
  }

  private static Affinity affinity(@Nullable Affinity written, String operator, String node) {
    var here =
        new NodeSelectorRequirementBuilder()
            .withKey("metadata.name")
            .withOperator(operator)
            .withValues(node)
            .build();
    var terms = terms(written).stream().map(term -> with(term, here)).toList();
    var all = terms.isEmpty() ? List.of(with(new NodeSelectorTerm(), here)) : terms;
    var base = written == null ? new AffinityBuilder() : new AffinityBuilder(written);
    return base.editOrNewNodeAffinity()
        .withRequiredDuringSchedulingIgnoredDuringExecution(
            new NodeSelectorBuilder().withNodeSelectorTerms(all).build())
        .endNodeAffinity()
        .build();
  }

  private static List<NodeSelectorTerm> terms(@Nullable Affinity affinity) {
    var nodes = affinity == null ? null : affinity.getNodeAffinity();
    var required = nodes == null ? null : nodes.getRequiredDuringSchedulingIgnoredDuringExecution();
    return required == null ? List.of() : required.getNodeSelectorTerms();
  }

  private static NodeSelectorTerm with(NodeSelectorTerm term, NodeSelectorRequirement here) {
    return new NodeSelectorTermBuilder(term).addToMatchFields(here).build();
  }
}
