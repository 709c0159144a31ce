package dev.platter.bench;

import dev.platter.lab.LoopDevice;
import dev.platter.lab.LoopMount;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** How long a qcow2 image takes to become a raw disk, and what that costs. */
final class ConvertBenchmark implements Benchmark {
  private static final long MIB = 1 << 20;
  private static final int RUNS = 32;
  private static final int LARGE_RUNS = 4 * RUNS;
  private static final long RUN = SampleDisk.RUN;
  private static final long SIZE = 2 * RUNS * RUN;

  private static final String OURS = "ours";
  private static final String COLD = "ours, as a process";
  private static final String QEMU = "qemu-img convert -m 16 -W";
  private static final String QEMU_DIRECT = QEMU + " -t none";
  private static final String QEMU_OFFLOAD = QEMU + " -C";

  private record Image(String name, Path file) {}

  @Override
  public String name() {
    return "convert";
  }

  @Override
  public String description() {
    return "A qcow2 image with 64 KiB clusters becomes a raw disk: "
        + SIZE / MIB
        + " MiB with "
        + RUNS * RUN / MIB
        + " MiB of data in "
        + RUNS
        + " runs, which compress by half. The image is in the page cache; nobody syncs, but a"
        + " device is written back when it is closed. Ours opens, checks, copies and closes in a process that is warm;"
        + " \"as a process\" counts the start of a JVM with the cache of classes that `./platter` has. CPU is that of"
        + " the process, compiler threads included; what the kernel does in threads of its own (loop device, write-back)"
        + " is in no one's. Every result is compared with the disk by `qemu-img compare`, and a file of ours must not"
        + " take over 2 % more space than the rival's. The device is a loop device over a file in memory, and so is that with XFS, where clusters are shared and not"
        + " copied.";
  }

  @Override
  public int rounds() {
    return 7;
  }

  @Override
  public List<Row> run(Path work, int rounds) throws Exception {
    var disk = SampleDisk.make(work.resolve("disk.raw"), RUNS);
    var plain = image(work, disk.raw(), "uncompressed");
    var images =
        List.of(
            image(work, disk.raw(), "zlib", "-c", "-o", "compression_type=zlib"),
            image(work, disk.raw(), "zstd", "-c", "-o", "compression_type=zstd"),
            plain);
    var jvm = trained(work, plain.file);
    var rows = new ArrayList<Row>();
    for (var image : images) {
      rows.addAll(toFile(work, disk, image, jvm, rounds));
    }
    var memory = Files.createTempDirectory(Path.of("/dev/shm"), "platter-bench-");
    try {
      try (var device = device(memory.resolve("device.img"))) {
        for (var image : images) {
          rows.addAll(toDevice(device.path(), disk, image, rounds));
        }
      }
      rows.addAll(onXfs(memory, disk, plain.file, rounds));
      var large = SampleDisk.make(work.resolve("large.raw"), LARGE_RUNS);
      rows.addAll(onXfs(memory, large, image(work, large.raw(), "large").file, rounds));
    } finally {
      Tool.cleanUp("rm", "-r", memory.toString());
    }
    return rows;
  }

  private static List<Row> toFile(Path work, SampleDisk disk, Image image, FreshJvm jvm, int rounds)
      throws Exception {
    var name = image.name + " to a file";
    var from = image.file;
    var ours = work.resolve("ours.raw");
    var theirs = work.resolve("theirs.raw");
    var outcomes =
        new Contest()
            .with(OURS, () -> disk.removed(ours, warm(from, ours)))
            .with(COLD, () -> disk.removed(ours, jvm.time(from.toString(), ours.toString())))
            .with(QEMU, () -> disk.removed(theirs, Tool.time(qemu(QEMU, from, theirs))))
            .run(rounds);
    ConvertOnce.convert(from, ours);
    Tool.time(qemu(QEMU, from, theirs));
    SampleDisk.sameSpace(ours, theirs);
    return List.of(
        row(name, outcomes, OURS, QEMU), row(name + ", as a process", outcomes, COLD, QEMU));
  }

  private static List<Row> toDevice(Path device, SampleDisk disk, Image image, int rounds)
      throws Exception {
    var name = image.name + " to a device";
    var from = image.file;
    var outcomes =
        new Contest()
            .with(OURS, () -> disk.compared(device, warm(from, device)))
            .with(QEMU, () -> disk.compared(device, Tool.time(qemu(QEMU + " -n", from, device))))
            .with(
                QEMU_DIRECT,
                () -> disk.compared(device, Tool.time(qemu(QEMU_DIRECT + " -n", from, device))))
            .run(rounds);
    return List.of(row(name, outcomes, OURS, QEMU), row(name, outcomes, OURS, QEMU_DIRECT));
  }

  private static LoopDevice device(Path file) throws Exception {
    Tool.output("truncate", "-s", Long.toString(SIZE), file.toString());
    return LoopDevice.attach(file);
  }

  private static List<Row> onXfs(Path memory, SampleDisk disk, Path image, int rounds)
      throws Exception {
    var place = Files.createDirectory(memory.resolve(image.getFileName() + ".xfs"));
    try (var xfs = LoopMount.make(place, LoopMount.Type.XFS, 3 * disk.size())) {
      var name = "uncompressed on XFS, %d MiB of data".formatted(Files.size(image) / MIB);
      return sharing(name, xfs.path(), disk, image, rounds);
    }
  }

  private static List<Row> sharing(
      String name, Path directory, SampleDisk disk, Path image, int rounds) throws Exception {
    var from = Files.copy(image, directory.resolve("image.qcow2"));
    Tool.output("sync", "-f", from.toString());
    var ours = directory.resolve("ours.raw");
    var theirs = directory.resolve("theirs.raw");
    var outcomes =
        new Contest()
            .with(OURS, () -> disk.removed(ours, warm(from, ours)))
            .with(QEMU, () -> disk.removed(theirs, Tool.time(qemu(QEMU, from, theirs))))
            .with(
                QEMU_OFFLOAD,
                () -> disk.removed(theirs, Tool.time(qemu(QEMU_OFFLOAD, from, theirs))))
            .run(rounds);
    return List.of(row(name, outcomes, OURS, QEMU), row(name, outcomes, OURS, QEMU_OFFLOAD));
  }

  private static Stopwatch.Reading warm(Path image, Path to) throws IOException {
    var watch = Stopwatch.startForAllThreads();
    ConvertOnce.convert(image, to);
    return watch.stop();
  }

  private static String[] qemu(String command, Path image, Path to) {
    var words = new ArrayList<>(List.of(command.split(" ")));
    words.addAll(List.of("-f", "qcow2", "-O", "raw", image.toString(), to.toString()));
    return words.toArray(String[]::new);
  }

  /** What the JVM remembers of a first run, as ./platter has it of its build. */
  private static FreshJvm trained(Path work, Path image) throws Exception {
    var made = work.resolve("training.raw");
    var jvm =
        FreshJvm.trained(
            ConvertOnce.class,
            List.of(),
            work.resolve("once.aot"),
            image.toString(),
            made.toString());
    Files.delete(made);
    return jvm;
  }

  private static Row row(
      String name, Map<String, Contest.Outcome> outcomes, String ours, String rival) {
    var our = Contest.outcome(outcomes, ours).median();
    var their = Contest.outcome(outcomes, rival).median();
    return new Row(
        name,
        our.millis(),
        their.millis(),
        rival,
        their.millis() / our.millis(),
        "ms",
        our.cpuMillis(),
        their.cpuMillis());
  }

  private static Image image(Path work, Path raw, String name, String... options) throws Exception {
    var image = work.resolve(name + ".qcow2");
    var command = new ArrayList<>(List.of("qemu-img", "convert", "-m", "16", "-f", "raw"));
    command.addAll(List.of("-O", "qcow2"));
    command.addAll(List.of(options));
    command.addAll(List.of(raw.toString(), image.toString()));
    Tool.time(command.toArray(String[]::new));
    return new Image(name, image);
  }
}
