package dev.platter.cli;

import dev.platter.node.Node;
import java.io.IOException;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Parameters;

@Command(
    name = "detach",
    description = {
      "Take a disk from a running VM, once the guest has let go of it.",
      "A local file that was made for the VM is deleted; a disk used in place is not touched."
    })
final class DiskDetachCommand extends NodeCommand {
  @Parameters(index = "0", paramLabel = "VM", description = "Name of the VM.")
  @Nullable String vm;

  @Parameters(index = "1", paramLabel = "DISK", description = "Name of the disk.")
  String disk = "";

  @Override
  void run(Node opened) throws IOException {
    opened.disks(node.vm(vm)).detach(disk);
    out().println(disk + " is detached from " + vm);
    out().flush();
  }
}
