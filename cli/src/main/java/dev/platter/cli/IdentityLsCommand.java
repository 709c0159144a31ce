package dev.platter.cli;

import dev.platter.node.Node;
import java.io.IOException;
import java.util.Optional;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;

@Command(name = "ls", description = "List the identities whose disks are on this machine.")
final class IdentityLsCommand extends NodeCommand {
  @Mixin OutputOption output = new OutputOption();

  @Override
  void run(Node opened) throws IOException {
    var listing = new Listing("namespace", "name", "set", "size", "allocated", "usedBy", "made");
    for (var disk : opened.identities().list()) {
      var key = disk.identity().key();
      listing.row(
          key.namespace(),
          key.name(),
          Optional.ofNullable(disk.identity().set()),
          new Bytes(disk.size()),
          new Bytes(disk.allocated()),
          opened.identities().users(key),
          disk.made());
    }
    listing.print(output.format, out());
  }
}
