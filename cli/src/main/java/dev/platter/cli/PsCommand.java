package dev.platter.cli;

import dev.platter.node.Node;
import dev.platter.node.VmStatus;
import java.io.IOException;
import java.util.Locale;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

@Command(name = "ps", description = "List VMs.")
final class PsCommand extends NodeCommand {
  @Option(
      names = {"-a", "--all"},
      description = "Show stopped VMs too.")
  boolean all;

  @Mixin OutputOption output = new OutputOption();

  @Override
  void run(Node opened) throws IOException {
    var listing = new Listing("namespace", "name", "phase", "disks", "uuid", "why");
    for (var vm : opened.list()) {
      if (all || vm.phase() != VmStatus.Phase.STOPPED) {
        listing.row(
            vm.key().namespace(),
            vm.key().name(),
            vm.phase().name().toLowerCase(Locale.ROOT),
            vm.plan().disks().stream().map(disk -> disk.device()).toList(),
            vm.plan().uuid(),
            opened.stall(vm).map(stall -> stall.why(vm.plan())).orElse(""));
      }
    }
    listing.print(output.format, out());
  }
}
