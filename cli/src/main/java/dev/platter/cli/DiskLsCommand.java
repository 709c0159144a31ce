package dev.platter.cli;

import dev.platter.node.Node;
import java.io.IOException;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Parameters;

@Command(name = "ls", description = "List the disks of a VM and their snapshots, oldest first.")
final class DiskLsCommand extends NodeCommand {
  @Parameters(paramLabel = "VM", description = "Name of the VM.")
  @Nullable String vm;

  @Mixin OutputOption output = new OutputOption();

  @Override
  void run(Node opened) throws IOException {
    var listing =
        new Listing("name", "device", "source", "size", "access", "kept", "snapshots", "file");
    for (var listed : opened.disks(node.vm(vm)).list()) {
      var disk = listed.disk();
      var size = listed.size();
      listing.row(
          disk.name(),
          disk.device(),
          disk.source(),
          size.isPresent() ? new Bytes(size.getAsLong()) : "-",
          disk.readOnly() ? "read-only" : "writable",
          disk.kept(),
          listed.snapshots(),
          disk.chain().getFirst());
    }
    listing.print(output.format, out());
  }
}
