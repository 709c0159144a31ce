package dev.platter.bench;

import dev.platter.image.oci.OciLayout;
import dev.platter.image.oci.OciLayoutWriter;
import dev.platter.image.oci.Platform;
import dev.platter.model.Vm;
import dev.platter.node.Node;
import dev.platter.node.Progress;
import dev.platter.node.image.ImageSources;
import dev.platter.node.image.ImageUsers;
import dev.platter.node.image.LocalImages;
import dev.platter.plan.StateLayout;
import dev.platter.plan.Step;
import dev.platter.plan.VmKey;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;

/**
 * How long a root disk takes to become ready when its image is on the node, for images of very
 * different size.
 */
final class RootfsBenchmark implements Benchmark {
  private static final long MIB = 1 << 20;
  private static final int DATA_MIB = 64;

  private static final LinkedHashMap<String, Long> SIZES = new LinkedHashMap<>();

  static {
    SIZES.put("100 MiB", 100 * MIB);
    SIZES.put("2 GiB", 2048 * MIB);
    SIZES.put("1 TiB", MIB * MIB);
  }

  @Override
  public String name() {
    return "rootfs";
  }

  @Override
  public String description() {
    return "A root disk from an image that is on the node, each with "
        + DATA_MIB
        + " MiB of random data in 16 runs. Ours is the executor's step: the overlay and the journal record of it are on"
        + " the disk when the clock stops (process start is not counted: a node runs one daemon). \"Whole VM\" is"
        + " everything but QEMU: plan, journal, directories, overlay, all synced. The rivals are whole processes, as"
        + " people run them. What each made is compared with the image by `qemu-img compare`.";
  }

  @Override
  public List<Row> run(Path work, int rounds) throws Exception {
    var rows = new ArrayList<Row>();
    for (var size : SIZES.entrySet()) {
      rows.addAll(
          size(
              Files.createDirectory(work.resolve(size.getKey().replace(" ", ""))),
              size.getKey(),
              size.getValue(),
              rounds));
    }
    return rows;
  }

  private static List<Row> size(Path work, String name, long size, int rounds) throws Exception {
    var raw = image(work.resolve("image.raw"), size);
    var qcow2 = work.resolve("image.qcow2");
    Tool.time("qemu-img", "convert", "-O", "qcow2", raw.toString(), qcow2.toString());
    var layout = work.resolve("layout");
    new OciLayoutWriter(layout).add("image", Platform.LINUX_AMD64, "disk.qcow2", qcow2);
    var clock = new StepClock();
    var state = new StateLayout(work.resolve("state"), work.resolve("run"));
    ImageSources sources = _ -> new ImageSources.Located(new OciLayout(layout), "image", "image");
    try (var node =
        new Node(
            state, new IdleMachine(), new LocalImages(state, sources, ImageUsers.NONE), clock)) {
      node.pull("image");
      var vm = vm();
      var overlay = state.disk(StateLayout.DEFAULT_POOL, vm.uuid(), "root", "qcow2");
      var wholeVm = new ArrayList<Stopwatch.Reading>();
      var rivalRaw = work.resolve("rival.raw");
      var rivalOverlay = work.resolve("rival.qcow2");
      var outcome =
          new Contest()
              .with(
                  "ours",
                  () -> {
                    var watch = Stopwatch.start();
                    node.run(vm);
                    wholeVm.add(watch.stop());
                    compare(raw, overlay);
                    node.remove(new VmKey(vm.namespace(), vm.name()), true);
                    return clock.reading();
                  })
              .with("create", () -> rival(raw, rivalOverlay, create(raw, rivalOverlay)))
              .with("convert", () -> rival(raw, rivalRaw, convert(qcow2, rivalRaw)))
              .run(rounds);
      return rows(name, outcome, Contest.outcome(wholeVm).median());
    }
  }

  private static String[] create(Path base, Path overlay) {
    return new String[] {
      "qemu-img",
      "create",
      "-q",
      "-f",
      "qcow2",
      "-F",
      "raw",
      "-b",
      base.toString(),
      overlay.toString()
    };
  }

  private static String[] convert(Path image, Path raw) {
    return new String[] {
      "qemu-img", "convert", "-m", "16", "-W", "-O", "raw", image.toString(), raw.toString()
    };
  }

  private static Stopwatch.Reading rival(Path image, Path made, String... command)
      throws Exception {
    var reading = Tool.time(command);
    compare(image, made);
    Files.delete(made);
    return reading;
  }

  private static List<Row> rows(
      String size, Map<String, Contest.Outcome> outcomes, Stopwatch.Reading wholeVm) {
    var ours = Contest.outcome(outcomes, "ours");
    var create = Contest.outcome(outcomes, "create");
    var convert = Contest.outcome(outcomes, "convert");
    var rows = new ArrayList<Row>();
    rows.add(row("disk ready, " + size, ours.median(), create.median(), "qemu-img create -b"));
    rows.add(
        row("disk ready, " + size, ours.median(), convert.median(), "qemu-img convert -m 16 -W"));
    if (size.equals(SIZES.firstEntry().getKey())) {
      rows.add(
          row("first disk of a JVM, " + size, ours.first(), create.median(), "qemu-img create -b"));
    }
    rows.add(row("whole VM, " + size, wholeVm, create.median(), "qemu-img create -b"));
    return rows;
  }

  private static Row row(
      String name, Stopwatch.Reading ours, Stopwatch.Reading rival, String rivalName) {
    return new Row(
        name,
        ours.millis(),
        rival.millis(),
        rivalName,
        rival.millis() / ours.millis(),
        "ms",
        ours.cpuMillis(),
        rival.cpuMillis());
  }

  private static Vm vm() {
    var text =
        "kind: VM\nspec: {domain: {devices: {disks: [{name: root, source: {image: image}}]}}}\n";
    return dev.platter.dialect.Manifests.read("bench.yaml", text).getFirst();
  }

  private static Path image(Path file, long size) throws Exception {
    var random = new Random(size);
    var run = new byte[(DATA_MIB / 16) << 20];
    try (var channel =
        FileChannel.open(file, StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE)) {
      for (var i = 0; i < 16; i++) {
        random.nextBytes(run);
        channel.write(ByteBuffer.wrap(run), size / 16 * i / MIB * MIB);
      }
      channel.write(ByteBuffer.allocate(1), size - 1);
      channel.force(true);
    }
    return file;
  }

  /** A terabyte of holes is quick to compare, since qemu-img asks where the data is. */
  private static void compare(Path image, Path made) throws Exception {
    var format = made.toString().endsWith(".qcow2") ? "qcow2" : "raw";
    Tool.time("qemu-img", "compare", "-f", "raw", "-F", format, image.toString(), made.toString());
  }

  /** The time of the step that makes the disk, its journal record included. */
  private static final class StepClock implements Progress {
    private Stopwatch watch = Stopwatch.start();
    private Stopwatch.Reading reading = watch.stop();

    @Override
    public void before(Step step) {
      watch = Stopwatch.start();
    }

    @Override
    public void after(Step step) {
      if (step instanceof Step.CreateOverlay) {
        reading = watch.stop();
      }
    }

    Stopwatch.Reading reading() {
      return reading;
    }
  }
}
