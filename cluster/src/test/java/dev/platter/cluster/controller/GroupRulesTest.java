package dev.platter.cluster.controller;

import static dev.platter.cluster.controller.Objects.FREE;
import static dev.platter.cluster.controller.Objects.NOW;
import static dev.platter.cluster.controller.Objects.group;
import static dev.platter.cluster.controller.Objects.ready;
import static dev.platter.cluster.controller.Objects.vm;
import static org.assertj.core.api.Assertions.assertThat;

import dev.platter.cluster.api.Condition;
import dev.platter.cluster.api.Conditions;
import dev.platter.cluster.api.VirtualMachine;
import dev.platter.cluster.api.VirtualMachineGroup;
import io.fabric8.kubernetes.api.model.LabelSelectorBuilder;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class GroupRulesTest {
  private static List<String> names(List<VirtualMachine> vms) {
    return vms.stream().map(vm -> vm.getMetadata().getName()).toList();
  }

  private static List<VirtualMachine> replicas(int count) {
    return new ArrayList<>(GroupRules.decide(group(count, FREE), List.of(), NOW).create());
  }

  private static String problem(VirtualMachineGroup group) {
    var decision = GroupRules.decide(group, List.of(), NOW);
    var ready = Conditions.find(decision.status().conditions(), Condition.READY);
    assertThat(decision.create()).isEmpty();
    assertThat(ready.reason()).isEqualTo("Invalid");
    return String.valueOf(ready.message());
  }

  @Test
  void missingVmsAreMadeFromTheTemplateAndOwnedByTheGroup() {
    var made = replicas(3);
    assertThat(names(made)).containsExactly("web-0", "web-1", "web-2");
    var first = made.getFirst();
    assertThat(GroupRules.ownedBy(group(3, FREE), first)).isTrue();
    assertThat(first.getMetadata().getLabels())
        .containsEntry("app", "shop")
        .containsEntry(GroupRules.GROUP, "web");
    assertThat(first.getSpec().at("/domain/devices/disks/0/name").asText()).isEqualTo("root");
  }

  @Test
  void highestAreRemovedFirstAndGapsAreFilled() {
    var three = replicas(3);
    var down = GroupRules.decide(group(1, FREE), three, NOW);
    assertThat(names(down.delete())).containsExactly("web-2", "web-1");
    assertThat(down.create()).isEmpty();
    three.remove(1);
    assertThat(names(GroupRules.decide(group(3, FREE), three, NOW).create()))
        .containsExactly("web-1");
  }

  @Test
  void vmThatIsBeingDeletedKeepsItsName() {
    var two = replicas(2);
    two.forEach(vm -> vm.getMetadata().setDeletionTimestamp(NOW.toString()));
    var decision = GroupRules.decide(group(1, FREE), two, NOW);
    assertThat(decision.create()).isEmpty();
    assertThat(decision.delete()).isEmpty();
  }

  @Test
  void vmsOfOthersAreNotCounted() {
    var stranger = vm("running: true", FREE);
    stranger.getMetadata().setName("web-0");
    var decision = GroupRules.decide(group(0, FREE), List.of(stranger), NOW);
    assertThat(decision.delete()).isEmpty();
    assertThat(decision.status().replicas()).isZero();
  }

  @Test
  void statusIsWhatAnAutoscalerNeeds() {
    var two = replicas(2);
    ready(two.getFirst());
    var status = GroupRules.decide(group(2, FREE), two, NOW).status();
    assertThat(status.replicas()).isEqualTo(2);
    assertThat(status.readyReplicas()).isEqualTo(1);
    assertThat(status.labelSelector()).isEqualTo("app=shop");
  }

  @Test
  void selectorIsNeverEmptyForThatWouldBeAllPods() {
    var plain = group(1, FREE);
    var spec = plain.getSpec();
    for (var selector :
        new ArrayList<>(java.util.Arrays.asList(null, new LabelSelectorBuilder().build()))) {
      plain.setSpec(new VirtualMachineGroup.Spec(1, selector, spec.template()));
      var decision = GroupRules.decide(plain, List.of(), NOW);
      assertThat(decision.status().labelSelector()).isEqualTo("platter.dev/group=web");
      assertThat(decision.create()).hasSize(1);
    }
  }

  @Test
  void oneSourceForSeveralWritersIsRefused() {
    var shared = "- {name: data, source: {pvc: data}}";
    assertThat(problem(group(2, shared))).contains("The disk data");
    assertThat(GroupRules.decide(group(1, shared), List.of(), NOW).create()).hasSize(1);
    var copied = "- {name: data, source: {pvc: data}, copy: {mode: copy-on-write}}";
    assertThat(GroupRules.decide(group(2, copied), List.of(), NOW).create()).hasSize(2);
    var blank = "- {name: data, source: {blank: {}}, size: 1Gi, keep: true}";
    assertThat(GroupRules.decide(group(2, blank), List.of(), NOW).create()).hasSize(2);
    var made = "- {name: data, source: {container: {image: a}}}";
    assertThat(GroupRules.decide(group(2, made), List.of(), NOW).create()).hasSize(2);
  }

  @Test
  void templateThatCannotWorkMakesNoVms() {
    assertThat(problem(group(1, "- {source: {}}"))).contains("says not where");
    var other = group(1, FREE);
    var selector = new LabelSelectorBuilder().addToMatchLabels("app", "other").build();
    other.setSpec(new VirtualMachineGroup.Spec(1, selector, other.getSpec().template()));
    assertThat(problem(other)).contains("selector");
  }

  @Test
  void absurdNumberIsMadeInPortions() {
    var decision = GroupRules.decide(group(1_000_000_000, FREE), List.of(), NOW);
    assertThat(decision.create()).hasSize(GroupRules.AT_ONCE);
    assertThat(decision.again()).isNotNull();
  }

  @Test
  void deletedGroupIsLeftToTheGarbageCollector() {
    var group = group(3, FREE);
    group.getMetadata().setDeletionTimestamp(NOW.toString());
    assertThat(GroupRules.decide(group, List.of(), NOW).create()).isEmpty();
  }

  @Test
  void takenNameIsToldAndTheOthersAreMade() {
    var cluster = new FakeCluster();
    cluster.groups.put("shop/web", group(2, FREE));
    var stranger = vm("running: true", FREE);
    stranger.getMetadata().setName("web-0");
    cluster.put(stranger);
    var again = new GroupReconciler(cluster, cluster, () -> NOW).reconcile("shop/web");
    assertThat(again).isNotNull();
    assertThat(cluster.vms).containsKeys("shop/web-0", "shop/web-1");
    var status = VirtualMachineGroup.Status.of(cluster.groups.get("shop/web"));
    assertThat(Conditions.find(status.conditions(), Condition.READY).reason())
        .isEqualTo("NameTaken");
  }
}
