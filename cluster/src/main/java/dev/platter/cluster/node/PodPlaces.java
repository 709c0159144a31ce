package dev.platter.cluster.node;

import dev.platter.cluster.api.Names;
import dev.platter.plan.StateLayout;
import dev.platter.plan.VmKey;
import io.fabric8.kubernetes.api.model.ContainerPort;
import io.fabric8.kubernetes.api.model.Pod;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;

/** Where the processes of VMs are: in the cgroups of their pods, with the pods' networks. */
final class PodPlaces {
  private final Path cgroups;
  private final PodNetwork network;
  private final Map<VmKey, Place> all = new ConcurrentHashMap<>();

  private record Place(PodCgroup group, long pid) {}

  PodPlaces(Path cgroups, StateLayout layout) {
    this.cgroups = cgroups;
    this.network = new PodNetwork(layout);
  }

  /** Moves a VM's process into its pod, and gives it the pod's network. */
  void place(Pod pod, UUID vm, long pid) throws IOException {
    var group = group(pod);
    group.move(pid);
    network.connect(vm, group, ports(pod));
    all.put(PodVms.key(pod), new Place(group, pid));
  }

  private PodCgroup group(Pod pod) throws IOException {
    return PodCgroup.find(
        cgroups, Path.of("/proc"), pod.getMetadata().getUid(), Names.LAUNCHER_COMMAND);
  }

  private static List<ContainerPort> ports(Pod pod) {
    return pod.getSpec().getContainers().getFirst().getPorts();
  }

  /** Whether the process has died that gives a guest its network. */
  boolean hasLostNetwork(UUID vm) throws IOException {
    return network.isLost(vm);
  }

  void mendNetwork(Pod pod, UUID vm) throws IOException {
    network.connect(vm, group(pod), ports(pod));
  }

  /**
   * The VM's process has ended.
   *
   * @return whether it was for want of memory
   */
  boolean leave(VmKey key) throws IOException {
    var place = all.remove(key);
    if (place == null) {
      return false;
    }
    var memory = place.group().outOfMemory();
    PodCgroup.forget(cgroups, place.pid());
    return memory;
  }

  /** Nothing of the VM is left. */
  void forget(VmKey key) {
    all.remove(key);
  }
}
