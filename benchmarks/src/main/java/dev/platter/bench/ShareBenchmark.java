package dev.platter.bench;

import dev.platter.bench.ShapedLink.Shape;
import dev.platter.lab.MarkerGuest;
import dev.platter.lab.Registry;
import dev.platter.node.VmStatus;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

/** What many VMs of one image cost a node that one would not. */
final class ShareBenchmark implements Benchmark {
  private static final int MANY = 20;
  private static final double MB = 1e6;
  private static final double MIB = 1 << 20;
  private static final Duration LIMIT = Duration.ofMinutes(8);
  private static final Shape LINK = new Shape(125_000_000, Duration.ofMillis(10));

  /** What a node had used when all its guests were up. */
  private record Used(long bytes, long disk) {}

  @Override
  public String name() {
    return "share";
  }

  @Override
  public String description() {
    return MANY
        + " VMs of one image, started at once on a node that has nothing of it, beside one VM on such a node. Real QEMU"
        + " without KVM, 128 MiB each, each with its own overlay; the registry is behind a link of 125 MB/s and 10 ms."
        + " Read off when every guest has booted from its disk and says so on its console: the bytes that came"
        + " through the link, headers included, and the space that the node's state takes, by `du`. The rest of the image is not fetched.";
  }

  @Override
  public String conditions(int rounds) {
    return "One round: bytes and space hardly vary";
  }

  @Override
  public List<Row> run(Path work, int rounds) throws Exception {
    try (var registry = Registry.start();
        var guests = new LabGuests(work)) {
      var image = PushedImage.seekable(work, registry.address(), "marker", MarkerGuest.raw(), null);
      var one = round(guests, registry, image, 1);
      var many = round(guests, registry, image, MANY);
      var name = ", " + MANY + " VMs";
      return List.of(
          Row.of("through the link" + name, many.bytes / MB, one.bytes / MB, "one VM", "MB"),
          Row.of(
              "on the disk" + name,
              many.disk / MB,
              (one.disk + MANY * MIB) / MB,
              "one VM and 1 MiB for each",
              "MB"));
    }
  }

  private static Used round(LabGuests guests, Registry registry, PushedImage image, int count)
      throws Exception {
    try (var link = new ShapedLink(registry.address(), LINK);
        var node = guests.freshNode();
        var threads = Executors.newFixedThreadPool(count)) {
      var reference = image.at(link.address());
      var started = new ArrayList<Future<VmStatus>>();
      for (var i = 0; i < count; i++) {
        var yaml = yaml("vm" + i, reference);
        Callable<VmStatus> run = () -> node.runApart(yaml);
        started.add(threads.submit(run));
      }
      for (var vm : started) {
        node.await(vm.get(), "^@@READY", LIMIT);
      }
      return new Used(link.bytes(), used(node.layout().state()));
    }
  }

  private static String yaml(String name, String reference) {
    return """
        kind: VM
        metadata: {name: %s}
        spec:
          domain:
            memory: {guest: 128Mi}
            devices:
              disks:
              - {name: root, source: {image: "%s"}, target: {bus: virtio}}
        """
        .formatted(name, reference);
  }

  private static long used(Path directory) throws Exception {
    return Long.parseLong(Tool.output("du", "-s", "-B1", directory.toString()).split("\t", 2)[0]);
  }
}
