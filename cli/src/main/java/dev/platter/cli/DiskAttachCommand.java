package dev.platter.cli;

import dev.platter.dialect.Manifests;
import dev.platter.node.Node;
import dev.platter.plan.PlannedDisk;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

@Command(
    name = "attach",
    description = "Give a running VM one more disk, which is its own from then on.")
final class DiskAttachCommand extends NodeCommand {
  @Parameters(paramLabel = "VM", description = "Name of the VM.")
  @Nullable String vm;

  @Option(
      names = {"-f", "--file"},
      paramLabel = "FILE",
      required = true,
      description = "YAML file with the disk, as an entry of 'disks:'; - reads standard input.")
  String file = "";

  @Option(
      names = "--objects",
      paramLabel = "FILE",
      description = "YAML file of Secrets that the disk needs; may be repeated.")
  List<String> objects = new ArrayList<>();

  @Override
  void run(Node opened) throws IOException {
    var key = node.vm(vm);
    var taken = opened.status(key).plan().disks().stream().map(PlannedDisk::device).toList();
    var disk =
        Manifests.readDisk(Manifest.shown(file), Manifest.text(file), taken, key.namespace());
    opened.disks(key).attach(disk, Manifest.objects(objects));
    out().println(disk.name() + " is attached to " + vm + " as " + disk.target().device());
    out().flush();
  }
}
