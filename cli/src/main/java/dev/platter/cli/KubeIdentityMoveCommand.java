package dev.platter.cli;

import dev.platter.cluster.ClusterIdentities;
import java.time.Duration;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

@Command(
    name = "move",
    description = "Move the disk of an identity to another node. No pod may have it meanwhile.")
final class KubeIdentityMoveCommand extends KubeIdentityAction {
  private static final Duration POLL = Duration.ofMillis(500);

  @Parameters(paramLabel = "IDENTITY", description = "Name of the identity.")
  @Nullable String name;

  @Option(
      names = "--to",
      paramLabel = "NODE",
      required = true,
      description = "The node that is to have the disk.")
  @Nullable String node;

  @Option(
      names = "--no-wait",
      description = "Return when the move is asked for; status.nodeName tells when it is done.")
  boolean noWait;

  @Override
  void run(ClusterIdentities cluster) throws InterruptedException {
    var where = namespace(cluster);
    var wanted = String.valueOf(name);
    var target = String.valueOf(node);
    cluster.move(where, wanted, target);
    if (noWait) {
      out().println(wanted + " is to move to " + target);
      return;
    }
    var said = "";
    while (true) {
      var found =
          cluster.find(where, wanted).orElseThrow(() -> ClusterIdentities.missing(where, wanted));
      var status = found.status();
      if (target.equals(status.nodeName())) {
        out().println(wanted + " is on " + target);
        return;
      }
      var line =
          "waits for %s to take it from %s"
              .formatted(target, status.nodeName() == null ? "nobody" : status.nodeName());
      for (var condition : status.conditions()) {
        if (!condition.holds() && condition.message() != null) {
          line += ": " + condition.message();
        }
      }
      if (!line.equals(said)) {
        err().println(line);
        err().flush();
        said = line;
      }
      Thread.sleep(POLL);
    }
  }
}
