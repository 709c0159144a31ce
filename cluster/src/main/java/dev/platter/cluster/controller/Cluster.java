package dev.platter.cluster.controller;

import dev.platter.cluster.api.Reason;
import dev.platter.cluster.api.VirtualMachine;
import dev.platter.cluster.api.VirtualMachineGroup;
import dev.platter.cluster.api.VirtualMachineMigration;
import dev.platter.cluster.api.VmStatus;
import io.fabric8.kubernetes.api.model.HasMetadata;
import io.fabric8.kubernetes.api.model.Pod;
import io.fabric8.kubernetes.api.model.Secret;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The changes that controllers make. Each fails with a {@code KubernetesClientException}; every
 * change depends on the object being the one that was decided on, by its version.
 */
interface Cluster {
  /** As it is now, past all informers. */
  @Nullable Pod pod(String namespace, String name);

  /** As it is now, past all informers. */
  @Nullable VirtualMachine vm(String namespace, String name);

  /** Returns it as the server has it. */
  Pod create(Pod pod);

  void create(Secret secret);

  void delete(Pod pod);

  void create(VirtualMachine vm);

  void delete(VirtualMachine vm);

  void finalizers(VirtualMachine vm, List<String> finalizers);

  /** Returns the VM as the server has it then. */
  VirtualMachine status(VirtualMachine vm, VmStatus status);

  /** The pod that the VM had moved to is gone: its next one has its own name again. */
  void podGone(VirtualMachine vm);

  void keep(VirtualMachineMigration migration, VirtualMachine vm);

  void finalizers(VirtualMachineMigration migration, List<String> finalizers);

  void status(VirtualMachineMigration migration, VirtualMachineMigration.Status status);

  void status(VirtualMachineGroup group, VirtualMachineGroup.Status status);

  void event(HasMetadata about, Reason reason, String message);
}
