package dev.platter.cluster.node;

import dev.platter.cluster.api.IdentityChanges;
import dev.platter.cluster.api.IdentityFeed;
import dev.platter.cluster.api.IdentityStatus;
import dev.platter.cluster.api.Names;
import dev.platter.cluster.api.VmIdentity;
import dev.platter.cluster.api.VmIdentitySet;
import dev.platter.model.IdentityKey;
import dev.platter.node.move.MoveSource;
import io.fabric8.kubernetes.api.model.Node;
import io.fabric8.kubernetes.client.KubernetesClient;
import io.fabric8.kubernetes.client.informers.ExceptionHandler;
import io.fabric8.kubernetes.client.informers.SharedIndexInformer;
import java.net.InetSocketAddress;
import java.util.Collection;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;

/** Identities and nodes of the API server. */
final class KubeIdentities implements IdentityKeeper.Objects, IdentityMover.Peers, AutoCloseable {
  private final KubernetesClient client;
  private final IdentityChanges changes;
  private final IdentityFeed identities;
  private final SharedIndexInformer<Node> nodes;

  /**
   * @param changed is told of identities that came, changed or went
   */
  KubeIdentities(KubernetesClient client, Consumer<IdentityKey> changed, Consumer<String> log) {
    this.client = client;
    this.changes = new IdentityChanges(client);
    ExceptionHandler again =
        (_, problem) -> {
          log.accept("waits for the API server: " + problem.getMessage());
          return true;
        };
    nodes =
        client.nodes().withLabel(Names.NODE, "true").runnableInformer(0).exceptionHandler(again);
    identities =
        new IdentityFeed(client, identity -> changed.accept(IdentityKeeper.key(identity)), log);
  }

  /** Done when all is known, which may be never. */
  CompletableFuture<Void> start() {
    return CompletableFuture.allOf(nodes.start().toCompletableFuture(), identities.start());
  }

  @Override
  public Optional<VmIdentity> identity(IdentityKey key) {
    return Optional.ofNullable(identities.get(key.namespace() + "/" + key.name()));
  }

  @Override
  public Optional<VmIdentity> identityNow(IdentityKey key) {
    return Optional.ofNullable(
        client.resources(VmIdentity.class).inNamespace(key.namespace()).withName(key.name()).get());
  }

  /** A set as it is now. */
  Optional<VmIdentitySet> set(String namespace, String name) {
    return Optional.ofNullable(
        client.resources(VmIdentitySet.class).inNamespace(namespace).withName(name).get());
  }

  @Override
  public Collection<String> nodes() {
    return nodes.getStore().list().stream()
        .filter(KubeIdentities::isReady)
        .map(node -> node.getMetadata().getName())
        .toList();
  }

  private static boolean isReady(Node node) {
    return !Boolean.TRUE.equals(node.getSpec().getUnschedulable())
        && node.getStatus().getConditions().stream()
            .anyMatch(it -> it.getType().equals("Ready") && it.getStatus().equals("True"));
  }

  @Override
  public Optional<MoveSource> source(String node) {
    var found = nodes.getStore().getByKey(node);
    if (found == null) {
      return Optional.empty();
    }
    return MovesNote.of(found)
        .flatMap(
            note ->
                found.getStatus().getAddresses().stream()
                    .filter(address -> address.getType().equals("InternalIP"))
                    .findFirst()
                    .map(
                        address ->
                            new MoveSource(
                                new InetSocketAddress(address.getAddress(), note.port()),
                                note.fingerprint())));
  }

  /** Only the node itself can say what its certificate is. */
  @Override
  public Optional<String> nodeOf(String fingerprint) {
    return nodes.getStore().list().stream()
        .filter(node -> MovesNote.of(node).filter(it -> it.isOf(fingerprint)).isPresent())
        .map(node -> node.getMetadata().getName())
        .findFirst();
  }

  @Override
  public void status(VmIdentity identity, IdentityStatus status) {
    changes.status(identity, status);
  }

  @Override
  public void finalizers(VmIdentity identity, List<String> finalizers) {
    changes.finalizers(identity, finalizers);
  }

  @Override
  public void close() {
    identities.close();
    nodes.close();
  }
}
