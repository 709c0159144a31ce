package dev.platter.cli;

import dev.platter.cluster.ClusterIdentities;
import java.util.Optional;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

@Command(name = "ls", description = "List identities, and which node has the disk of each.")
final class KubeIdentityLsCommand extends KubeIdentityAction {
  @Option(
      names = {"-A", "--all-namespaces"},
      description = "Those of all namespaces.")
  boolean all;

  @Mixin OutputOption output = new OutputOption();

  @Override
  void run(ClusterIdentities cluster) {
    var listing =
        new Listing("namespace", "name", "set", "size", "node", "ready", "usedBy", "made");
    for (var found : cluster.list(all ? null : namespace(cluster))) {
      var identity = found.identity();
      var status = found.status();
      listing.row(
          identity.getMetadata().getNamespace(),
          identity.getMetadata().getName(),
          Optional.of(identity.set()).filter(set -> !set.isEmpty()),
          Optional.ofNullable(status.size()).map(Bytes::new),
          Optional.ofNullable(status.nodeName()),
          status.ready(),
          found.usedBy(),
          Optional.ofNullable(status.creationTime()));
    }
    listing.print(output.format, out());
  }
}
