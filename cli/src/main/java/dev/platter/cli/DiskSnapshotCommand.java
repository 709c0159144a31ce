package dev.platter.cli;

import dev.platter.node.Node;
import java.io.IOException;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Parameters;

@Command(
    name = "snapshot",
    description = "Keep a disk of a running VM as it is now; later writes go to an overlay on it.")
final class DiskSnapshotCommand extends NodeCommand {
  @Parameters(index = "0", paramLabel = "VM", description = "Name of the VM.")
  @Nullable String vm;

  @Parameters(index = "1", paramLabel = "DISK", description = "Name of the disk.")
  String disk = "";

  @Parameters(index = "2", paramLabel = "NAME", description = "Name of the snapshot.")
  String name = "";

  @Override
  void run(Node opened) throws IOException {
    opened.disks(node.vm(vm)).snapshot(disk, name);
    out().println(disk + " of " + vm + " has the snapshot " + name);
    out().flush();
  }
}
