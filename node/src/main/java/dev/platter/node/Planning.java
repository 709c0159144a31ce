package dev.platter.node;

import dev.platter.dialect.Objects;
import dev.platter.image.BadImageException;
import dev.platter.image.Digest;
import dev.platter.model.ContainerImageSource;
import dev.platter.model.ImageLogins;
import dev.platter.model.PlatterException;
import dev.platter.model.PlatterException.Code;
import dev.platter.model.Vm;
import dev.platter.node.image.ContainerImages;
import dev.platter.plan.Answers;
import dev.platter.plan.Claims;
import dev.platter.plan.ContainerImage;
import dev.platter.plan.NodeFacts;
import dev.platter.plan.Plan;
import dev.platter.plan.Planned;
import dev.platter.plan.Planner;
import dev.platter.plan.StateLayout;
import dev.platter.plan.Step;
import dev.platter.plan.VmKey;
import java.io.IOException;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** Finds out what the planner has to know of this machine, and has it plan. Nothing is changed. */
record Planning(
    StateLayout layout,
    Machine machine,
    ImageDigests digests,
    ContainerImages containers,
    Pools pools,
    IdentityDisks identities) {
  /** A VM that exists keeps what it was made with. */
  Planned plan(Vm vm, Objects given) throws IOException {
    var known = VmRecord.find(layout, new VmKey(vm.namespace(), vm.name()));
    return plan(vm, given, known.map(VmRecord::plan));
  }

  /**
   * Whole, unless there are containers that have not answered.
   *
   * @param known the plan that the VM has, be it whole or the beginning of one
   */
  Planned plan(Vm described, Objects given, Optional<Plan> known) throws IOException {
    DynamicVolumes.check(described);
    var vm = Claims.resolve(described, given.volumes(), given.secrets());
    var facts = facts(vm, known, given.secrets().logins());
    var planned = Planner.plan(vm, facts);
    if (planned.plan().whole() || known.isEmpty()) {
      return planned;
    }
    var answers = DynamicVolumes.answers(known.get());
    if (!answers.keySet().containsAll(DynamicVolumes.disks(planned.plan()))) {
      return planned;
    }
    var answered = Answers.resolve(vm, answers);
    return planned.then(
        Planner.plan(Claims.resolve(answered, given.volumes(), given.secrets()), facts));
  }

  /** Anew, but for what its images mean, which another node has said. */
  Planned plan(Vm vm, Objects given, Map<String, String> images) throws IOException {
    images.values().forEach(Planning::check);
    var known =
        new Plan(
            Plan.VERSION,
            vm.namespace(),
            vm.name(),
            vm.uuid(),
            machine.libvirt(),
            images,
            Map.of(),
            List.of(),
            List.of());
    return plan(vm, given, Optional.of(known));
  }

  /** Directories are called after it. */
  private static void check(String digest) {
    try {
      Digest.parse(digest);
    } catch (BadImageException e) {
      throw PlatterException.of(
          Code.REFUSED, "the VM comes with an image that cannot be: " + e.getMessage(), "", e);
    }
  }

  private NodeFacts facts(Vm vm, Optional<Plan> known, ImageLogins logins) throws IOException {
    var directories = new HashMap<>(pools.directories());
    known.ifPresent(plan -> directories.putAll(plan.pools()));
    return new NodeFacts(
        layout,
        machine.accelerator(),
        known.map(Plan::libvirt).orElseGet(machine::libvirt),
        known.flatMap(DynamicVolumes::containerd).orElseGet(machine::containerd),
        machine.emulator(),
        digests.of(vm, known, logins),
        directories,
        machine.isolated(),
        identities.places(vm),
        runsImage(vm) ? containers(vm, known, logins) : Map.of(),
        runsImage(vm) ? machine.boot() : null);
  }

  private static boolean runsImage(Vm vm) {
    return vm.bootDisk().source() instanceof ContainerImageSource;
  }

  /** As for other images: what the plan of the VM says, or what is now. */
  private Map<String, ContainerImage> containers(Vm vm, Optional<Plan> known, ImageLogins logins) {
    var out = new HashMap<String, ContainerImage>();
    for (var step : known.map(Plan::steps).orElse(List.of())) {
      if (step instanceof Step.EnsureLayers layers) {
        out.put(layers.reference(), layers.image());
      }
    }
    if (vm.bootDisk().source() instanceof ContainerImageSource source) {
      out.computeIfAbsent(source.reference(), reference -> containers.resolve(reference, logins));
    }
    return out;
  }
}
