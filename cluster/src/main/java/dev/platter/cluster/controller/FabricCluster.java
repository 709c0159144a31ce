package dev.platter.cluster.controller;

import dev.platter.cluster.api.Finalizers;
import dev.platter.cluster.api.MigrationChanges;
import dev.platter.cluster.api.Reason;
import dev.platter.cluster.api.VirtualMachine;
import dev.platter.cluster.api.VirtualMachineGroup;
import dev.platter.cluster.api.VirtualMachineMigration;
import dev.platter.cluster.api.VmStatus;
import io.fabric8.kubernetes.api.model.HasMetadata;
import io.fabric8.kubernetes.api.model.ObjectMeta;
import io.fabric8.kubernetes.api.model.ObjectMetaBuilder;
import io.fabric8.kubernetes.api.model.Pod;
import io.fabric8.kubernetes.api.model.Secret;
import io.fabric8.kubernetes.client.KubernetesClient;
import io.fabric8.kubernetes.client.dsl.base.PatchContext;
import io.fabric8.kubernetes.client.dsl.base.PatchType;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** The real cluster. */
final class FabricCluster implements Cluster {
  static final String FIELD_MANAGER = "platter-controller";

  private final KubernetesClient client;
  private final Events events;
  private final MigrationChanges migrations;

  FabricCluster(KubernetesClient client) {
    this.client = client;
    this.events = new Events(client);
    this.migrations = new MigrationChanges(client);
  }

  @Override
  public @Nullable Pod pod(String namespace, String name) {
    return client.pods().inNamespace(namespace).withName(name).get();
  }

  @Override
  public @Nullable VirtualMachine vm(String namespace, String name) {
    return client.resources(VirtualMachine.class).inNamespace(namespace).withName(name).get();
  }

  @Override
  public Pod create(Pod pod) {
    return client.resource(pod).create();
  }

  @Override
  public void create(Secret secret) {
    client.resource(secret).create();
  }

  @Override
  public void delete(Pod pod) {
    client
        .pods()
        .inNamespace(pod.getMetadata().getNamespace())
        .withName(pod.getMetadata().getName())
        .lockResourceVersion(pod.getMetadata().getResourceVersion())
        .delete();
  }

  @Override
  public void create(VirtualMachine vm) {
    client.resource(vm).create();
  }

  @Override
  public void delete(VirtualMachine vm) {
    client
        .resources(VirtualMachine.class)
        .inNamespace(vm.getMetadata().getNamespace())
        .withName(vm.getMetadata().getName())
        .lockResourceVersion(vm.getMetadata().getResourceVersion())
        .delete();
  }

  @Override
  public void finalizers(VirtualMachine vm, List<String> finalizers) {
    client
        .resources(VirtualMachine.class)
        .inNamespace(vm.getMetadata().getNamespace())
        .withName(vm.getMetadata().getName())
        .patch(PatchContext.of(PatchType.JSON_MERGE), Finalizers.patch(vm, finalizers));
  }

  @Override
  public VirtualMachine status(VirtualMachine vm, VmStatus status) {
    var applied = new VirtualMachine();
    applied.setMetadata(name(vm));
    // A node may have said meanwhile that the VM is elsewhere.
    applied.getMetadata().setResourceVersion(vm.getMetadata().getResourceVersion());
    applied.setStatus(status);
    return apply(applied);
  }

  @Override
  public void podGone(VirtualMachine vm) {
    var version = vm.getMetadata().getResourceVersion();
    client
        .resource(vm)
        .subresource("status")
        .patch(
            PatchContext.of(PatchType.JSON_MERGE),
            "{\"metadata\":{\"resourceVersion\":\"%s\"},\"status\":{\"podName\":null}}"
                .formatted(version));
  }

  @Override
  public void keep(VirtualMachineMigration migration, VirtualMachine vm) {
    migrations.keep(migration, vm);
  }

  @Override
  public void finalizers(VirtualMachineMigration migration, List<String> finalizers) {
    migrations.finalizers(migration, finalizers);
  }

  @Override
  public void status(VirtualMachineMigration migration, VirtualMachineMigration.Status status) {
    migrations.status(migration, status);
  }

  @Override
  public void status(VirtualMachineGroup group, VirtualMachineGroup.Status status) {
    var applied = new VirtualMachineGroup();
    applied.setMetadata(name(group));
    applied.setStatus(status);
    apply(applied);
  }

  private <T extends HasMetadata> T apply(T object) {
    var context =
        new PatchContext.Builder()
            .withPatchType(PatchType.SERVER_SIDE_APPLY)
            .withFieldManager(FIELD_MANAGER)
            .withForce(true)
            .build();
    return client.resource(object).subresource("status").patch(context);
  }

  /** With the UID, so that a new object of the name never gets the status of an old one. */
  private static ObjectMeta name(HasMetadata object) {
    return new ObjectMetaBuilder()
        .withName(object.getMetadata().getName())
        .withNamespace(object.getMetadata().getNamespace())
        .withUid(object.getMetadata().getUid())
        .build();
  }

  @Override
  public void event(HasMetadata about, Reason reason, String message) {
    events.tell(about, reason, message);
  }
}
