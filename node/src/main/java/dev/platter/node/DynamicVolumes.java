package dev.platter.node;

import dev.platter.model.ContainerSource;
import dev.platter.model.Source;
import dev.platter.model.Vm;
import dev.platter.node.container.ContainerRuntime;
import dev.platter.node.container.DynamicVolume;
import dev.platter.node.container.Patience;
import dev.platter.node.container.VolumeContainer;
import dev.platter.node.container.VolumeName;
import dev.platter.plan.Plan;
import dev.platter.plan.Step;
import java.io.IOException;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.UUID;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** The volumes that containers make for VMs, as plans name them. */
final class DynamicVolumes {
  private final Progress progress;

  DynamicVolumes(Progress progress) {
    this.progress = progress;
  }

  /** Refuses containers that cannot be run on one machine. */
  static void check(Vm vm) {
    for (var disk : vm.disks()) {
      if (disk.source() instanceof ContainerSource container) {
        var _ = VolumeContainer.of(container);
      }
    }
  }

  void make(Plan plan, Step.MakeVolume step) throws IOException {
    volume(plan.uuid(), step).make(VolumeContainer.of(step.container()));
  }

  void serve(Plan plan, Step.ServeVolume step) throws IOException {
    volume(plan.uuid(), step.disk(), step.containerd(), step.directory()).serve();
  }

  void unmake(Plan plan, Step.MakeVolume step) throws IOException {
    volume(plan.uuid(), step).unmake().forEach(progress::warning);
  }

  /** The disks whose volumes containers make. */
  static Set<String> disks(Plan plan) {
    return made(plan).map(Step.MakeVolume::disk).collect(Collectors.toSet());
  }

  /** The containerd that the VM was made with, if it needed one. */
  static Optional<String> containerd(Plan plan) {
    return made(plan).map(Step.MakeVolume::containerd).findFirst();
  }

  private static Stream<Step.MakeVolume> made(Plan plan) {
    return plan.steps().stream()
        .filter(Step.MakeVolume.class::isInstance)
        .map(Step.MakeVolume.class::cast);
  }

  /** What was answered for the disks of a plan. */
  static Map<String, Source> answers(Plan plan) throws IOException {
    var out = new HashMap<String, Source>();
    for (var step : made(plan).toList()) {
      volume(plan.uuid(), step).answer().ifPresent(source -> out.put(step.disk(), source));
    }
    return out;
  }

  private static DynamicVolume volume(UUID vm, Step.MakeVolume step) {
    return volume(vm, step.disk(), step.containerd(), step.directory());
  }

  private static DynamicVolume volume(UUID vm, String disk, String containerd, String directory) {
    return new DynamicVolume(
        new ContainerRuntime(Path.of(containerd)),
        new VolumeName(vm, disk),
        Path.of(directory),
        Patience.USUAL);
  }
}
