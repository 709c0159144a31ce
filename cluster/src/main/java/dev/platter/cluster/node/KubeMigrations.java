package dev.platter.cluster.node;

import dev.platter.cluster.api.MigrationChanges;
import dev.platter.cluster.api.MigrationPhase;
import dev.platter.cluster.api.OnChange;
import dev.platter.cluster.api.VirtualMachineMigration;
import dev.platter.cluster.api.VirtualMachineMigration.Status;
import io.fabric8.kubernetes.client.KubernetesClient;
import io.fabric8.kubernetes.client.KubernetesClientException;
import io.fabric8.kubernetes.client.informers.SharedIndexInformer;
import java.net.HttpURLConnection;
import java.util.List;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;

/** The migrations of the API server. */
final class KubeMigrations implements LeavingVms.Migrations, ExpectedVms.Migrations, AutoCloseable {
  private static final int TRIES = 10;

  private final KubernetesClient client;
  private final MigrationChanges changes;
  private final SharedIndexInformer<VirtualMachineMigration> migrations;

  KubeMigrations(KubernetesClient client, Consumer<String> log) {
    this.client = client;
    this.changes = new MigrationChanges(client);
    this.migrations =
        client
            .resources(VirtualMachineMigration.class)
            .inAnyNamespace()
            .runnableInformer(0)
            .exceptionHandler(
                (_, problem) -> {
                  log.accept("waits for the API server: " + problem.getMessage());
                  return true;
                });
  }

  /** Done when all is known, which may be never. */
  CompletableFuture<Void> start() {
    return migrations.start().toCompletableFuture();
  }

  void onChange(Consumer<VirtualMachineMigration> changed) {
    migrations.addEventHandler(new OnChange<>(changed));
  }

  @Override
  public List<VirtualMachineMigration> all() {
    return migrations.getStore().list();
  }

  @Override
  public Optional<VirtualMachineMigration> now(String namespace, UUID move) {
    return client
        .resources(VirtualMachineMigration.class)
        .inNamespace(namespace)
        .list()
        .getItems()
        .stream()
        .filter(migration -> migration.move().equals(move))
        .findFirst();
  }

  /** Somebody may have asked for its end meanwhile, which is no reason not to say how it went. */
  @Override
  public void status(VirtualMachineMigration migration, Status status) {
    var latest = migration;
    for (var tries = 0; ; tries++) {
      try {
        changes.status(latest, status);
        return;
      } catch (KubernetesClientException e) {
        if (e.getCode() == HttpURLConnection.HTTP_NOT_FOUND) {
          return;
        }
        if (e.getCode() != HttpURLConnection.HTTP_CONFLICT || tries == TRIES) {
          throw e;
        }
        var now = now(migration.getMetadata().getNamespace(), migration.move());
        if (now.isEmpty() || now.get().said().phase() != MigrationPhase.MOVING) {
          return;
        }
        latest = now.get();
      }
    }
  }

  @Override
  public void close() {
    migrations.close();
  }
}
