package dev.platter.cluster.controller;

import dev.platter.cluster.api.Condition;
import dev.platter.cluster.api.Conditions;
import dev.platter.cluster.api.Reason;
import dev.platter.cluster.api.VirtualMachine;
import dev.platter.cluster.api.VirtualMachineGroup;
import dev.platter.cluster.api.VmStatus;
import dev.platter.model.Access;
import dev.platter.model.BlankSource;
import dev.platter.model.ContainerSource;
import dev.platter.model.PlatterException;
import dev.platter.model.ServedSource;
import dev.platter.model.Vm;
import io.fabric8.kubernetes.api.model.LabelSelector;
import io.fabric8.kubernetes.api.model.ObjectMetaBuilder;
import io.fabric8.kubernetes.api.model.OwnerReferenceBuilder;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * Which VMs a group lacks and which it has too many. Pure.
 *
 * <p>The VMs of the group {@code web} are {@code web-0}, {@code web-1} and so on; the highest
 * numbers go first, and what is missing below is made anew under its old number. A change of the
 * template is for VMs that are made after it. A name that somebody else's VM has is left out and
 * told.
 */
final class GroupRules {
  /** Label of a group's VMs, and so of their pods: the group's name. */
  static final String GROUP = "platter.dev/group";

  /** How many VMs are made or removed before the next look, whatever number is asked for. */
  static final int AT_ONCE = 50;

  /** Ordinals of more digits were not made here, and could not be read as a number. */
  private static final int MOST_DIGITS = 6;

  /**
   * @param status without the names that turn out to be taken
   * @param again whether there is more to do of the same
   */
  record GroupDecision(
      List<VirtualMachine> create,
      List<VirtualMachine> delete,
      VirtualMachineGroup.Status status,
      @Nullable Duration again) {
    GroupDecision {
      create = List.copyOf(create);
      delete = List.copyOf(delete);
    }
  }

  private GroupRules() {}

  static GroupDecision decide(VirtualMachineGroup group, List<VirtualMachine> vms, Instant now) {
    var owned = vms.stream().filter(vm -> ownedBy(group, vm)).toList();
    if (group.getMetadata().getDeletionTimestamp() != null) {
      return new GroupDecision(List.of(), List.of(), status(group, owned, "", now), null);
    }
    var wanted = group.getSpec().wanted();
    var problem = problem(group, wanted);
    var present = new HashSet<Integer>();
    var excess = new ArrayList<VirtualMachine>();
    for (var vm : owned) {
      var number = ordinal(group, vm);
      if (number < wanted) {
        present.add(number);
      } else if (vm.getMetadata().getDeletionTimestamp() == null) {
        excess.add(vm);
      }
    }
    var create = new ArrayList<VirtualMachine>();
    var limit = problem.isEmpty() ? wanted : 0;
    for (var i = 0; i < limit && create.size() < AT_ONCE; i++) {
      if (!present.contains(i)) {
        create.add(replica(group, i));
      }
    }
    var highestFirst =
        Comparator.comparingInt((VirtualMachine vm) -> ordinal(group, vm)).reversed();
    var delete = excess.stream().sorted(highestFirst).limit(AT_ONCE).toList();
    var more = create.size() == AT_ONCE || excess.size() > AT_ONCE;
    return new GroupDecision(
        create, delete, status(group, owned, problem, now), more ? Duration.ofSeconds(1) : null);
  }

  static boolean ownedBy(VirtualMachineGroup group, VirtualMachine vm) {
    return vm.getMetadata().getOwnerReferences().stream()
        .anyMatch(
            owner ->
                Boolean.TRUE.equals(owner.getController())
                    && owner.getUid().equals(group.getMetadata().getUid()));
  }

  /** The highest if its name has none: then it was not made here. */
  private static int ordinal(VirtualMachineGroup group, VirtualMachine vm) {
    var prefix = group.getMetadata().getName() + "-";
    var name = vm.getMetadata().getName();
    var rest = name.startsWith(prefix) ? name.substring(prefix.length()) : "";
    return rest.matches("0|[1-9][0-9]{0," + (MOST_DIGITS - 1) + "}")
        ? Integer.parseInt(rest)
        : Integer.MAX_VALUE;
  }

  private static VirtualMachine replica(VirtualMachineGroup group, int number) {
    var meta = group.getMetadata();
    var template = group.getSpec().template();
    var vm = new VirtualMachine();
    vm.setMetadata(
        new ObjectMetaBuilder()
            .withName(meta.getName() + "-" + number)
            .withNamespace(meta.getNamespace())
            .withLabels(new TreeMap<>(template.labels()))
            .addToLabels(GROUP, meta.getName())
            .withAnnotations(new TreeMap<>(template.annotations()))
            .withOwnerReferences(
                new OwnerReferenceBuilder()
                    .withApiVersion(group.getApiVersion())
                    .withKind(group.getKind())
                    .withName(meta.getName())
                    .withUid(meta.getUid())
                    .withController(true)
                    .withBlockOwnerDeletion(true)
                    .build())
            .build());
    vm.setSpec(template.spec());
    return vm;
  }

  /** Why no VM can be made of the template; empty if they can. */
  private static String problem(VirtualMachineGroup group, int wanted) {
    if (!matches(group)) {
      return "The selector must be matchLabels that the template has.";
    }
    var vm = replica(group, 0);
    Vm machine;
    try {
      machine = VmSpec.of(vm).read(vm);
    } catch (PlatterException e) {
      return String.join("\n", concat(String.valueOf(e.getMessage()), e.details()));
    }
    if (wanted < 2) {
      return "";
    }
    if (vm.getSpec().at("/domain/firmware/uuid").isTextual()) {
      return "The template gives a firmware UUID, which only one VM can have.";
    }
    return machine.disks().stream()
        .filter(disk -> disk.writesSource() && disk.access() == Access.WRITE_EXCLUSIVE)
        .filter(
            disk ->
                !(disk.source() instanceof BlankSource
                    || disk.source() instanceof ContainerSource
                    || disk.source() instanceof ServedSource))
        .findFirst()
        .map(
            disk ->
                "The disk "
                    + disk.name()
                    + " of the template is one source that only one VM can write to; give it a"
                    + " copy mode, or ask for one replica.")
        .orElse("");
  }

  private static List<String> concat(String first, List<String> rest) {
    var all = new ArrayList<String>();
    all.add(first);
    all.addAll(rest);
    return all;
  }

  private static VirtualMachineGroup.Status status(
      VirtualMachineGroup group, List<VirtualMachine> owned, String problem, Instant now) {
    var before = VirtualMachineGroup.Status.of(group);
    var generation = group.getMetadata().getGeneration();
    var ready = (int) owned.stream().filter(vm -> VmStatus.of(vm).ready()).count();
    var conditions = new Conditions(before.conditions(), generation, now);
    if (problem.isEmpty()) {
      var wanted = group.getSpec().wanted();
      var all = ready >= wanted && owned.size() == wanted;
      conditions.add(
          Condition.READY,
          all,
          all ? Reason.RUNNING : Reason.STARTING,
          ready + " of " + wanted + " VMs run.");
    } else {
      conditions.add(Condition.READY, false, Reason.INVALID, problem);
    }
    return new VirtualMachineGroup.Status(
        owned.size(), ready, selector(group), conditions.all(), generation);
  }

  private static boolean matches(VirtualMachineGroup group) {
    LabelSelector selector = group.getSpec().selector();
    return selector == null
        || (replica(group, 0)
                .getMetadata()
                .getLabels()
                .entrySet()
                .containsAll(wantedLabels(group).entrySet())
            && selector.getMatchExpressions().isEmpty());
  }

  /** As autoscalers read it. Never empty: that would be all pods there are. */
  private static String selector(VirtualMachineGroup group) {
    var out = new ArrayList<String>();
    wantedLabels(group).forEach((key, value) -> out.add(key + "=" + value));
    return String.join(",", out);
  }

  private static Map<String, String> wantedLabels(VirtualMachineGroup group) {
    LabelSelector selector = group.getSpec().selector();
    Map<String, String> labels = selector == null ? Map.of() : selector.getMatchLabels();
    return labels == null || labels.isEmpty()
        ? Map.of(GROUP, group.getMetadata().getName())
        : new TreeMap<>(labels);
  }
}
