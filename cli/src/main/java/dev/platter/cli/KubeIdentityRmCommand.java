package dev.platter.cli;

import dev.platter.cluster.ClusterIdentities;
import java.time.Duration;
import java.util.List;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

@Command(
    name = "rm",
    description = "Remove identities with their disks. No pod of yours may have them.")
final class KubeIdentityRmCommand extends KubeIdentityAction {
  private static final Duration POLL = Duration.ofMillis(500);

  @Parameters(paramLabel = "IDENTITY", arity = "1..*", description = "Names of identities.")
  List<String> names = List.of();

  @Option(names = "--no-wait", description = "Return before the disks are gone.")
  boolean noWait;

  @Override
  void run(ClusterIdentities cluster) throws InterruptedException {
    var where = namespace(cluster);
    for (var name : names) {
      cluster.remove(where, name);
      while (!noWait && cluster.find(where, name).isPresent()) {
        Thread.sleep(POLL);
      }
      out().println(name + (noWait ? " is being removed" : " is removed"));
      out().flush();
    }
  }
}
