package dev.platter.cli;

import dev.platter.node.Node;
import java.io.IOException;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Parameters;

@Command(
    name = "rmsnapshot",
    description = {
      "Remove the newest snapshot of a running VM's disk.",
      "What was written since is merged into the disk below; the guest sees no difference."
    })
final class DiskRmsnapshotCommand extends NodeCommand {
  @Parameters(index = "0", paramLabel = "VM", description = "Name of the VM.")
  @Nullable String vm;

  @Parameters(index = "1", paramLabel = "DISK", description = "Name of the disk.")
  String disk = "";

  @Parameters(index = "2", paramLabel = "NAME", description = "Name of the snapshot.")
  String name = "";

  @Override
  void run(Node opened) throws IOException {
    opened.disks(node.vm(vm)).removeSnapshot(disk, name);
    out().println(disk + " of " + vm + " has no longer the snapshot " + name);
    out().flush();
  }
}
