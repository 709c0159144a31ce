package dev.platter.cli;

import dev.platter.model.ByteSize;
import dev.platter.node.Node;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;

@Command(
    name = "pools",
    description = "List the pools of this machine, where the local files of disks lie.")
final class PoolsCommand extends NodeCommand {
  @Mixin OutputOption output = new OutputOption();

  @Override
  boolean tidy() {
    return false;
  }

  @Override
  void run(Node opened) throws IOException {
    var columns =
        new ArrayList<>(
            List.of("name", "directory", "limit", "allocated", "promised", "free", "disks"));
    var all = output.format != Output.TABLE;
    if (all) {
      columns.add("vms");
      columns.add("identities");
    }
    var listing = new Listing(columns.toArray(String[]::new));
    for (var status : opened.pools()) {
      var pool = status.pool();
      var row =
          new ArrayList<Object>(
              List.of(
                  pool.name(),
                  pool.directory(),
                  Optional.ofNullable(pool.limit()).map(ByteSize::bytes).map(Bytes::new),
                  new Bytes(status.allocated()),
                  new Bytes(status.promised()),
                  new Bytes(status.free()),
                  status.disks()));
      if (all) {
        row.add(status.vms());
        row.add(status.identities());
      }
      listing.row(row.toArray());
    }
    listing.print(output.format, out());
  }
}
