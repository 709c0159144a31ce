package dev.platter.cluster.webhook;

import dev.platter.cluster.api.VirtualMachine;
import dev.platter.cluster.api.VirtualMachineMigration;
import io.fabric8.kubernetes.api.model.Pod;
import io.fabric8.kubernetes.client.KubernetesClient;
import java.util.List;
import java.util.Optional;

/** Asks the API server. */
record KubeEvictions(KubernetesClient client) implements Evictions.Cluster {
  @Override
  public Optional<Pod> pod(String namespace, String name) {
    return Optional.ofNullable(client.pods().inNamespace(namespace).withName(name).get());
  }

  @Override
  public Optional<VirtualMachine> vm(String namespace, String name) {
    return Optional.ofNullable(
        client.resources(VirtualMachine.class).inNamespace(namespace).withName(name).get());
  }

  @Override
  public List<VirtualMachineMigration> migrations(String namespace) {
    return client.resources(VirtualMachineMigration.class).inNamespace(namespace).list().getItems();
  }

  @Override
  public void create(VirtualMachineMigration migration) {
    client.resource(migration).create();
  }
}
