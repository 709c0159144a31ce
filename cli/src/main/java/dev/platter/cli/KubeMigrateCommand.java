package dev.platter.cli;

import dev.platter.cluster.ClusterMigrations;
import dev.platter.cluster.api.Condition;
import dev.platter.cluster.api.Conditions;
import dev.platter.cluster.api.MigrationPhase;
import dev.platter.cluster.api.Reason;
import dev.platter.cluster.api.VirtualMachineMigration;
import dev.platter.model.PlatterException;
import dev.platter.model.PlatterException.Code;
import io.fabric8.kubernetes.client.KubernetesClient;
import java.time.Duration;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

@Command(
    name = "migrate",
    description = {
      "Move a running VM to another node, while its guest runs.",
      "If it fails the VM runs on where it was. Deleting the VirtualMachineMigration gives it up."
    })
final class KubeMigrateCommand extends KubeCommand {
  private static final Duration POLL = Duration.ofMillis(300);

  @Parameters(paramLabel = "VM", description = "Name of the VM.")
  @Nullable String vm;

  @Option(
      names = "--to",
      paramLabel = "NODE",
      description = "The node that it is to go to (default: the scheduler chooses).")
  @Nullable String node;

  @Mixin MoveLimit limit = new MoveLimit();

  @Option(names = "--no-wait", description = "Return when the move is asked for.")
  boolean noWait;

  @Override
  void ask(KubernetesClient client) throws InterruptedException {
    var perGib = limit.perGib().orElse(null);
    var cluster = new ClusterMigrations(client);
    var migration = cluster.begin(namespace(client), String.valueOf(vm), node, perGib);
    var name = migration.getMetadata().getName();
    if (noWait) {
      out().println("virtualmachinemigration/" + name);
      return;
    }
    for (var said = ""; !migration.ended(); migration = cluster.now(migration)) {
      var message = message(migration);
      if (!message.isEmpty() && !message.equals(said)) {
        err().println(name + ": " + message);
        err().flush();
        said = message;
      }
      Thread.sleep(POLL);
    }
    var status = migration.said();
    if (status.phase() == MigrationPhase.FAILED) {
      throw PlatterException.of(
          code(migration),
          "the VM " + vm + " does not move: " + message(migration),
          "'kubectl describe vmm %s' shows all of it, 'kubectl get vm %s -o wide' where the VM is."
              .formatted(name, vm));
    }
    out()
        .println(
            "%s runs on %s%s"
                .formatted(
                    vm,
                    status.targetNode(),
                    status.downtime() == null
                        ? ""
                        : "; the guest stood still for at most " + status.downtime()));
  }

  private static String message(VirtualMachineMigration migration) {
    return complete(migration).map(Condition::message).orElse("");
  }

  /** As {@code platter migrate} ends on one machine. */
  private static Code code(VirtualMachineMigration migration) {
    var reason = complete(migration).map(Condition::reason).orElse("");
    return reason.equals(Reason.TIMED_OUT.word()) ? Code.TIMED_OUT : Code.UNAVAILABLE;
  }

  private static Optional<Condition> complete(VirtualMachineMigration migration) {
    return Optional.ofNullable(Conditions.find(migration.said().conditions(), Condition.COMPLETE));
  }
}
