package dev.platter.cli;

import dev.platter.node.Journey;
import dev.platter.node.LocalNode;
import dev.platter.node.Migrated;
import dev.platter.node.Node;
import dev.platter.node.Progress;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

@Command(
    name = "migrate",
    description = {
      "Move a running VM to another state directory of this machine, while its guest runs.",
      "If it fails or is cancelled the VM runs on where it was. A VM with disks on block devices, or on local files outside the pools, does not move."
    })
final class MigrateCommand extends NodeCommand {
  @Parameters(paramLabel = "VM", description = "Name of the VM.")
  @Nullable String vm;

  @Option(
      names = "--to",
      paramLabel = "DIR",
      required = true,
      description = "The state directory that it moves to; see --state.")
  Path to = Path.of("");

  @Option(
      names = "--to-connect",
      paramLabel = "URI",
      description = "The libvirt to use there, instead of Platter's own.")
  @Nullable String connect;

  @Option(
      names = {"-f", "--objects"},
      paramLabel = "FILE",
      description =
          "YAML file of Secrets that the VM's disks need, or of the pods that hold them; may be repeated.")
  List<String> objects = new ArrayList<>();

  @Mixin MoveLimit limit = new MoveLimit();

  private @Nullable Progress progress;

  /** One bar for both nodes. */
  @Override
  Progress progress() {
    if (progress == null) {
      progress = super.progress();
    }
    return progress;
  }

  @Override
  void run(Node opened) throws IOException {
    var perGib = limit.perGib().orElse(Journey.PER_GIB);
    var secrets = Manifest.secrets(objects);
    try (var other = LocalNode.open(node.config(to, connect), progress())) {
      other.tidy();
      out().println(said(opened.migrate(node.vm(vm), other, secrets, perGib)));
    }
    out().flush();
  }

  private String said(Migrated migrated) {
    return String.format(
        Locale.ROOT,
        "%s runs in %s: %s of memory and %s of disks in %.1f s; the guest stood still for at most %d ms",
        vm,
        to,
        new Bytes(migrated.memory()),
        new Bytes(migrated.disks()),
        migrated.took().toMillis() / 1e3,
        migrated.downtime().toMillis());
  }
}
