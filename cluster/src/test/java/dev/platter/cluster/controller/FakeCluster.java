package dev.platter.cluster.controller;

import dev.platter.cluster.api.Names;
import dev.platter.cluster.api.Reason;
import dev.platter.cluster.api.VirtualMachine;
import dev.platter.cluster.api.VirtualMachineGroup;
import dev.platter.cluster.api.VirtualMachineMigration;
import dev.platter.cluster.api.VmStatus;
import io.fabric8.kubernetes.api.model.HasMetadata;
import io.fabric8.kubernetes.api.model.Node;
import io.fabric8.kubernetes.api.model.Pod;
import io.fabric8.kubernetes.api.model.Secret;
import io.fabric8.kubernetes.client.KubernetesClientException;
import io.fabric8.kubernetes.client.utils.Serialization;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * A server with one namespace in memory, and informers that are never behind unless told. Of
 * versions it knows those of a VM's status; the others are the real server's to check.
 */
final class FakeCluster
    implements Cluster, VmReconciler.Known, GroupReconciler.Known, MigrationReconciler.Known {
  final Map<String, VirtualMachine> vms = new TreeMap<>();
  final Map<String, VirtualMachineGroup> groups = new TreeMap<>();
  final Map<String, VirtualMachineMigration> migrations = new TreeMap<>();
  final Map<String, Pod> pods = new TreeMap<>();
  final Map<String, Node> nodes = new TreeMap<>();
  final List<Secret> secrets = new ArrayList<>();
  final List<String> writes = new ArrayList<>();

  /** What an informer shows that is behind. */
  final Map<String, VirtualMachine> seen = new TreeMap<>();

  boolean podsHidden;
  boolean sourcesHidden;
  boolean behind;
  int refusal;

  void put(VirtualMachine vm) {
    vms.put(key(vm), vm);
  }

  private static String key(HasMetadata object) {
    return object.getMetadata().getNamespace() + "/" + object.getMetadata().getName();
  }

  @Override
  public @Nullable VirtualMachine vm(String key) {
    var found = seen.getOrDefault(key, vms.get(key));
    return found == null ? null : Serialization.clone(found);
  }

  @Override
  public @Nullable Pod pod(String key) {
    return podsHidden ? null : pods.get(key);
  }

  @Override
  public @Nullable VirtualMachineMigration migration(String key) {
    return migrations.get(key);
  }

  @Override
  public List<VirtualMachineMigration> migrations(String namespace) {
    return List.copyOf(migrations.values());
  }

  @Override
  public @Nullable Node node(String name) {
    return nodes.get(name);
  }

  @Override
  public @Nullable VirtualMachineGroup group(String key) {
    return groups.get(key);
  }

  @Override
  public List<VirtualMachine> vms(String namespace) {
    return List.copyOf(vms.values());
  }

  @Override
  public @Nullable Pod pod(String namespace, String name) {
    return pods.get(namespace + "/" + name);
  }

  @Override
  public @Nullable VirtualMachine vm(String namespace, String name) {
    return vms.get(namespace + "/" + name);
  }

  @Override
  public @Nullable Pod source(String key) {
    return sourcesHidden ? null : pods.get(key);
  }

  @Override
  public void create(Secret secret) {
    writes.add("create secret");
    secrets.add(secret);
  }

  @Override
  public Pod create(Pod pod) {
    writes.add("create pod");
    if (refusal != 0) {
      throw new KubernetesClientException("no such luck", refusal, null);
    }
    if (pods.putIfAbsent(key(pod), pod) != null) {
      throw new KubernetesClientException("exists", 409, null);
    }
    pod.getMetadata().setUid(java.util.UUID.randomUUID().toString());
    return pod;
  }

  @Override
  public void delete(Pod pod) {
    writes.add("delete pod");
    pods.remove(key(pod));
  }

  @Override
  public void create(VirtualMachine vm) {
    writes.add("create " + vm.getMetadata().getName());
    if (vms.putIfAbsent(key(vm), vm) != null) {
      throw new KubernetesClientException("exists", 409, null);
    }
  }

  @Override
  public void delete(VirtualMachine vm) {
    writes.add("delete " + vm.getMetadata().getName());
    vms.remove(key(vm));
  }

  @Override
  public void finalizers(VirtualMachine vm, List<String> finalizers) {
    writes.add("finalizers " + finalizers);
    vms.getOrDefault(key(vm), vm).getMetadata().setFinalizers(finalizers);
  }

  @Override
  public VirtualMachine status(VirtualMachine vm, VmStatus status) {
    var stored = vms.getOrDefault(key(vm), vm);
    var version = stored.getMetadata().getResourceVersion();
    if (behind || !Objects.equals(version, vm.getMetadata().getResourceVersion())) {
      throw new KubernetesClientException("it has changed", 409, null);
    }
    writes.add("status " + status.phase().word());
    var was = VmStatus.of(stored);
    stored.setStatus(
        new VmStatus(
            status.phase(),
            status.conditions(),
            status.nodeName(),
            status.sources(),
            status.disks(),
            was.podName(),
            was.handedTo(),
            was.movedTo(),
            status.observedGeneration(),
            status.exitCode()));
    stored.getMetadata().setResourceVersion(version + "0");
    return Serialization.clone(stored);
  }

  @Override
  public void podGone(VirtualMachine vm) {
    writes.add("pod gone");
    var stored = vms.getOrDefault(key(vm), vm);
    var is = VmStatus.of(stored);
    stored.setStatus(
        new VmStatus(is.phase(), is.conditions(), is.nodeName(), is.sources(), is.disks(), 3L));
  }

  @Override
  public void keep(VirtualMachineMigration migration, VirtualMachine vm) {
    migration.getMetadata().setFinalizers(new ArrayList<>(List.of(Names.MIGRATION_FINALIZER)));
  }

  @Override
  public void finalizers(VirtualMachineMigration migration, List<String> finalizers) {
    migration.getMetadata().setFinalizers(new ArrayList<>(finalizers));
  }

  @Override
  public void status(VirtualMachineMigration migration, VirtualMachineMigration.Status status) {
    migration.setStatus(status);
  }

  @Override
  public void status(VirtualMachineGroup group, VirtualMachineGroup.Status status) {
    writes.add("status " + status.replicas());
    group.setStatus(status);
  }

  @Override
  public void event(HasMetadata about, Reason reason, String message) {
    writes.add("event " + reason.word());
  }
}
