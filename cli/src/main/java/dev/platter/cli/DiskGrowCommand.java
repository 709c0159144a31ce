package dev.platter.cli;

import dev.platter.model.ByteSize;
import dev.platter.node.Node;
import java.io.IOException;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Parameters;

@Command(
    name = "grow",
    description = {
      "Make a disk of a running VM larger; the guest sees it at once.",
      "Growing the partition and the file system is the guest's business."
    })
final class DiskGrowCommand extends NodeCommand {
  @Parameters(index = "0", paramLabel = "VM", description = "Name of the VM.")
  @Nullable String vm;

  @Parameters(index = "1", paramLabel = "DISK", description = "Name of the disk.")
  String disk = "";

  @Parameters(index = "2", paramLabel = "SIZE", description = "The new size, such as 20Gi.")
  String size = "";

  @Override
  void run(Node opened) throws IOException {
    var wanted = ByteSize.parse(size);
    opened.disks(node.vm(vm)).grow(disk, wanted);
    out().println(disk + " of " + vm + " has " + wanted);
    out().flush();
  }
}
