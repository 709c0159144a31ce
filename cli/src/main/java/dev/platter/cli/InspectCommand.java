package dev.platter.cli;

import dev.platter.image.qcow2.Qcow2Overlay;
import dev.platter.image.raw.SparseFile;
import dev.platter.model.PlatterException;
import dev.platter.model.PlatterException.Code;
import dev.platter.node.Node;
import dev.platter.node.VmStatus;
import dev.platter.plan.PlanJson;
import dev.platter.plan.PlannedDisk;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Parameters;

@Command(
    name = "inspect",
    description = {
      "Show a VM and draw the chain of each of its disks.",
      "'platter inspect image IMAGE' shows an image and draws which of its blocks are here."
    })
final class InspectCommand extends NodeCommand {
  private static final String IMAGE = "image";

  @Parameters(
      paramLabel = "VM",
      arity = "1..2",
      description = "Name of the VM; or the word image, and a reference or the start of a digest.")
  List<String> names = List.of();

  @Mixin OutputOption output = new OutputOption();

  @Override
  void run(Node opened) throws IOException {
    if (names.size() == 2) {
      image(opened);
      return;
    }
    var vm = opened.status(node.vm(names.getFirst()));
    var why = opened.stall(vm).map(stall -> stall.why(vm.plan())).orElse("");
    if (output.table()) {
      draw(vm, why);
    } else {
      var all = new LinkedHashMap<String, Object>();
      all.put("phase", vm.phase().name().toLowerCase(Locale.ROOT));
      all.put("why", why);
      all.put("plan", PlanJson.tree(vm.plan()));
      output.print(all, out());
    }
    out().flush();
  }

  private void image(Node opened) throws IOException {
    if (!names.getFirst().equals(IMAGE)) {
      throw PlatterException.of(
          Code.INVALID,
          "'" + names.getFirst() + "' is not a kind of thing that can be shown",
          "Write 'platter inspect VM' or 'platter inspect image IMAGE'.");
    }
    for (var status : ImageArgument.find(opened, names.get(1))) {
      if (output.table()) {
        BlockMap.draw(status, out());
      } else {
        output.print(BlockMap.values(status), out());
      }
    }
    out().flush();
  }

  private void draw(VmStatus vm, String why) throws IOException {
    out()
        .printf(
            "%s  %s  %s%n", vm.key(), vm.phase().name().toLowerCase(Locale.ROOT), vm.plan().uuid());
    if (!why.isEmpty()) {
      out().println("waits: " + why);
    }
    vm.plan()
        .images()
        .forEach((reference, digest) -> out().println("image " + reference + " = " + digest));
    for (var disk : vm.plan().disks()) {
      out().printf("%n%s  %s  %s%n", disk.device(), disk.name(), words(disk));
      var chain = disk.chain();
      for (var i = 0; i < chain.size(); i++) {
        var last = i == chain.size() - 1;
        out().println((last ? " └─ " : " ├─ ") + describe(chain.get(i), i, disk));
      }
    }
  }

  private static String words(PlannedDisk disk) {
    var words = new ArrayList<String>();
    words.add(disk.bus().word());
    words.add(disk.readOnly() ? "read-only" : "writable");
    if (disk.boot()) {
      words.add("boot");
    }
    if (disk.kept()) {
      words.add("kept");
    }
    return String.join(", ", words);
  }

  private static String describe(PlannedDisk.Link link, int depth, PlannedDisk disk)
      throws IOException {
    var network = link.network();
    if (network != null) {
      return network.protocol() + "  " + network;
    }
    if (link.device() != null) {
      return "device  " + link;
    }
    var file = Path.of(String.valueOf(link.file()));
    var role = role(link, depth, disk);
    if (!Files.isRegularFile(file, LinkOption.NOFOLLOW_LINKS)) {
      return role
          + "  "
          + file
          + (disk.kept() || depth > 0 ? "  MISSING" : "  (not there while the VM is stopped)");
    }
    var here = SparseFile.allocated(file);
    return "%s  %s  %s, %s on disk%s"
        .formatted(
            role,
            file,
            link.format().word(),
            new Bytes(here),
            disk.copyOnRead() && depth == 0 ? full(file, here) : "");
  }

  /** How much of a disk is here that fills as it is read; zeros never fill it. */
  private static String full(Path overlay, long here) throws IOException {
    var size = Qcow2Overlay.sizeOf(overlay);
    return size == 0 ? "" : " (%d %% full)".formatted(Math.min(100, 100 * here / size));
  }

  private static String role(PlannedDisk.Link link, int depth, PlannedDisk disk) {
    if (link.snapshot() != null) {
      return "since snapshot " + link.snapshot();
    }
    // A snapshot lies on the file that was the disk before it, and that one perhaps on its base.
    var first = depth == 0 || disk.chain().get(depth - 1).snapshot() != null;
    if (!first) {
      return "base";
    }
    return depth < disk.chain().size() - 1 ? "overlay" : disk.source();
  }
}
