package dev.platter.bench;

import dev.platter.bench.ShapedLink.Shape;
import dev.platter.block.base.BaseFiles;
import dev.platter.image.BootTrace;
import dev.platter.lab.DebianGuest;
import dev.platter.lab.Registry;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** A guest from a distant registry: booted before it is pulled, or pulled, converted and booted. */
final class LazyBenchmark implements Benchmark {
  /** A boot takes most of a minute without KVM. */
  private static final int BOOTS = 2;

  /** A guest that has read nothing for so long is up, and its trace is stored. */
  private static final Duration BOOTED = Duration.ofSeconds(15);

  private static final Duration ROUND_TRIP = Duration.ofMillis(10);
  private static final long[] RATES = {12_500_000, 125_000_000};
  private static final int WARM_READS = 200;
  private static final int GOAL_ROUND_TRIPS = 3;
  private static final double GOAL_CPU_MILLIS = 20;
  private static final int SECTOR = 512;
  private static final double MB = 1e6;

  private static final String DIRECT = "direct";
  private static final String NEAR = "near";
  private static final String FAR = "far";
  private static final String RIVAL = "skopeo + umoci + qemu-img convert";
  private static final String GOAL = "the goal";

  @Override
  public String name() {
    return "lazy";
  }

  @Override
  public String description() {
    return "A Debian with systemd and cloud-init (QEMU without KVM, 384 MiB) to the prompt on its console, from a"
        + " registry behind one link with 10 ms of round trip and the given rate; a new connection costs one round trip"
        + " more. The image was pushed with the boot trace of an earlier boot. Ours: a node with nothing on it, its daemon running,"
        + " `run`; the rest of the image is not fetched. Rival: skopeo copy, umoci unpack, qemu-img convert -m 16"
        + " -W to raw, the same VM on that file. CPU is without QEMU's. \"Boot working set\": the blocks of 64 KiB that the"
        + " traced guest read, in that order, as one stream packed by `gzip -6`. \"First read\": without QEMU, from the digest"
        + " (the daemon has no manifest, no connection) to the first sector of the disk over NBD. Its parts are taken of the"
        + " image pushed with a trace of its first block only, so that no unpacking ahead is in the way: round trips are"
        + " its time at 10 ms less that at 0 ms, in units of what a byte takes over that link and back, which the goal counts too; the rest is its time"
        + " at 0 ms, on the disk too; CPU is that of the daemon, a process of its own, all of its threads. Every first sector, and once the whole disk, is compared with the guest's own.";
  }

  @Override
  public String conditions(int rounds) {
    return ("Means of %d boots each, alternated; first reads: medians of %d rounds, interleaved, after %d"
            + " reads that made the daemon as warm as that of a busy node")
        .formatted(BOOTS, rounds, WARM_READS);
  }

  @Override
  public List<Row> run(Path work, int rounds) throws Exception {
    var raw = work.resolve("disk.raw");
    var guest = DebianGuest.qcow2();
    Tool.time("qemu-img", "convert", "-O", "raw", guest.toString(), raw.toString());
    try (var registry = Registry.start();
        var daemon = new WarmDaemon();
        var guests = new LabGuests(work)) {
      var trace = trace(work, registry, guests, raw);
      var image = PushedImage.seekable(work, registry.address(), "traced", raw, trace);
      requireSameDisk(daemon, work, registry, image, raw);
      var workingSet = workingSet(work, raw, trace);
      var rows = new ArrayList<Row>();
      rows.addAll(firstReads(daemon, work, registry, image, raw, rounds));
      for (var rate : RATES) {
        rows.addAll(boots(work, registry, guests, image, rate, workingSet));
      }
      return rows;
    }
  }

  private static BootTrace trace(Path work, Registry registry, LabGuests guests, Path raw)
      throws Exception {
    var image = PushedImage.seekable(work, registry.address(), "plain", raw, null);
    try (var node = guests.freshNode(BOOTED)) {
      DebianVm.boot(node, DebianVm.image(image.at(registry.address())));
      var file = new BaseFiles(node.layout().image(image.digest())).trace();
      for (var tries = 0; !Files.exists(file); tries++) {
        if (tries == 600) {
          throw new IOException("no boot trace was recorded");
        }
        Thread.sleep(100);
      }
      return BootTrace.read(file);
    }
  }

  private static long workingSet(Path work, Path raw, BootTrace trace) throws Exception {
    var blocks = work.resolve("blocks");
    try (var from = FileChannel.open(raw);
        var to =
            FileChannel.open(blocks, StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE)) {
      var block = ByteBuffer.allocate(BootTrace.BLOCK);
      for (var number : trace.blocks()) {
        from.read(block.clear(), (long) number * BootTrace.BLOCK);
        to.write(block.flip());
      }
    }
    Tool.time("gzip", "-6", blocks.toString());
    return Files.size(work.resolve("blocks.gz"));
  }

  private static void requireSameDisk(
      WarmDaemon daemon, Path work, Registry registry, PushedImage image, Path raw)
      throws Exception {
    var directory = work.resolve("check");
    try (var node = daemon.serve(directory)) {
      var base = node.complete(image.at(registry.address()), image.digest());
      if (Files.mismatch(base, raw) >= 0) {
        throw new IOException("the base has other bytes than the disk that was pushed");
      }
    } finally {
      Tool.cleanUp("rm", "-rf", directory.toString());
    }
  }

  private static List<Row> firstReads(
      WarmDaemon daemon, Path work, Registry registry, PushedImage image, Path raw, int rounds)
      throws Exception {
    var firstBlock = BootTrace.of(Files.size(raw), 0);
    var brief = PushedImage.seekable(work, registry.address(), "brief", raw, firstBlock);
    var cases = new LinkedHashMap<String, Case>();
    cases.put(DIRECT, new Case(brief, null));
    cases.put(NEAR, new Case(brief, new Shape(RATES[1], Duration.ZERO)));
    cases.put(FAR, new Case(brief, new Shape(RATES[1], ROUND_TRIP)));
    for (var rate : RATES) {
      cases.put(rate(rate), new Case(image, new Shape(rate, ROUND_TRIP)));
    }
    for (var i = 0; i < WARM_READS; i++) {
      FirstRead.measure(daemon, work.resolve("first"), registry, brief, raw, 0, SECTOR, null);
    }
    var echoes = new ArrayList<Double>();
    var all = new LinkedHashMap<String, List<FirstRead>>();
    for (var round = 0; round < Contest.WARM_UP + rounds; round++) {
      for (var entry : cases.entrySet()) {
        var one = entry.getValue();
        var read =
            FirstRead.measure(
                daemon, work.resolve("first"), registry, one.image, raw, 0, SECTOR, one.shape);
        all.computeIfAbsent(entry.getKey(), _ -> new ArrayList<>()).add(read);
      }
      echoes.add(Echo.roundTripMillis(new Shape(RATES[1], ROUND_TRIP)));
    }
    return firstReadRows(all, Contest.median(echoes));
  }

  /**
   * @param shape as for {@link FirstRead#measure}
   */
  private record Case(PushedImage image, @Nullable Shape shape) {}

  private static List<Row> firstReadRows(Map<String, List<FirstRead>> all, double roundTrip) {
    var far = median(all, FAR);
    var near = median(all, NEAR).reading().millis();
    var rows = new ArrayList<Row>();
    for (var rate : RATES) {
      var millis = median(all, rate(rate)).reading().millis();
      var goal = GOAL_ROUND_TRIPS * roundTrip + GOAL_CPU_MILLIS;
      rows.add(Row.of("first read, " + rate(rate), millis, goal, GOAL, "ms"));
    }
    rows.add(Row.alone("a round trip of the link", roundTrip, "ms"));
    rows.add(
        Row.of(
            "round trips to it (%d requests, %d connections)"
                .formatted(far.requests(), far.connections()),
            Math.max(0.01, (far.reading().millis() - near) / roundTrip),
            GOAL_ROUND_TRIPS,
            GOAL,
            "round trips"));
    rows.add(Row.of("the rest of its time", near, GOAL_CPU_MILLIS, GOAL, "ms"));
    var cpu = median(all, DIRECT).reading().cpuMillis();
    rows.add(Row.of("the CPU of it", cpu, GOAL_CPU_MILLIS, GOAL, "ms"));
    return rows;
  }

  private static FirstRead median(Map<String, List<FirstRead>> all, String name) {
    return FirstRead.median(all.getOrDefault(name, List.of()), Contest.WARM_UP);
  }

  private static List<Row> boots(
      Path work, Registry registry, LabGuests guests, PushedImage image, long rate, long workingSet)
      throws Exception {
    var shape = new Shape(rate, ROUND_TRIP);
    var ours = new ArrayList<DebianVm.Boot>();
    var rival = new ArrayList<DebianVm.Boot>();
    for (var round = 0; round < BOOTS; round++) {
      ours.add(said(rate, "ours", DebianVm.lazily(guests, registry, image, shape)));
      var pull = work.resolve("pull");
      rival.add(said(rate, RIVAL, DebianVm.pulled(guests, pull, registry, image, shape)));
    }
    var bytes = ours.stream().mapToLong(DebianVm.Boot::bytes).average().orElseThrow();
    return List.of(
        Row.of("the prompt, " + rate(rate), prompt(ours), prompt(rival), RIVAL),
        Row.of("QEMU runs, " + rate(rate), startMillis(ours), startMillis(rival), RIVAL, "ms"),
        Row.of(
            "through the link before the prompt, " + rate(rate),
            bytes / MB,
            workingSet / MB,
            "the boot working set",
            "MB"),
        Row.of(
            "through the link before the prompt, " + rate(rate),
            bytes / MB,
            rival.stream().mapToLong(DebianVm.Boot::bytes).average().orElseThrow() / MB,
            RIVAL,
            "MB"));
  }

  /** Whoever waits for minutes likes to see something. */
  private static DebianVm.Boot said(long rate, String who, DebianVm.Boot boot) {
    System.err.printf(
        Locale.ROOT,
        "%s, %s: %.1f s, %.1f MB%n",
        rate(rate),
        who,
        boot.promptMillis() / 1000,
        boot.bytes() / MB);
    return boot;
  }

  private static Stopwatch.Reading prompt(List<DebianVm.Boot> boots) {
    return new Stopwatch.Reading(
        boots.stream().mapToDouble(DebianVm.Boot::promptMillis).average().orElseThrow(),
        boots.stream().mapToDouble(DebianVm.Boot::cpuMillis).average().orElseThrow());
  }

  private static double startMillis(List<DebianVm.Boot> boots) {
    return boots.stream().mapToDouble(DebianVm.Boot::startMillis).average().orElseThrow();
  }

  private static String rate(long bytesPerSecond) {
    return String.format(Locale.ROOT, "%.1f MB/s", bytesPerSecond / MB).replace(".0 ", " ");
  }
}
