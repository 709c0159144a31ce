package dev.platter.cli;

import dev.platter.cluster.ClusterIdentities;
import io.fabric8.kubernetes.client.KubernetesClient;

/** A command about the identities of the cluster. */
abstract class KubeIdentityAction extends KubeCommand {
  abstract void run(ClusterIdentities cluster) throws Exception;

  @Override
  final void ask(KubernetesClient client) throws Exception {
    run(new ClusterIdentities(client));
  }

  String namespace(ClusterIdentities cluster) {
    return namespace == null ? cluster.namespace() : namespace;
  }
}
