package dev.platter.bench;

import dev.platter.image.qcow2.Qcow2Overlay;
import dev.platter.lab.CephCluster;
import dev.platter.lab.IscsiTarget;
import dev.platter.lab.NbdExport;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** How long a disk on the network takes to become a disk of this node, copied or written over. */
final class CopyBenchmark implements Benchmark {
  private static final int WARM_UP = 5;
  private static final int RUNS = 64;
  private static final int RBD_RUNS = 16;
  private static final int TRAINING_RUNS = 4;
  private static final int GOAL_MILLIS = 50;

  private static final String OURS = "ours";
  private static final String COLD = "ours, as a process";
  private static final String QEMU = "qemu-img convert -m 16 -W -t writeback";
  private static final String NBDCOPY = "nbdcopy --flush";
  private static final String INFO = "qemu-img info";
  private static final String NBDINFO = "nbdinfo --size";

  @Override
  public String name() {
    return "copy";
  }

  @Override
  public String description() {
    return "A disk on the network becomes a disk of this node. Servers are on the same machine and have the disk in"
        + " memory: nbdkit and qemu-nbd on a unix socket, tgt (which knows of no holes), Ceph with one OSD in memory. \"Clone\": a raw file of "
        + 2 * RUNS * SampleDisk.RUN / (1 << 20)
        + " MiB (RBD: "
        + 2 * RBD_RUNS * SampleDisk.RUN / (1 << 20)
        + " MiB), half of it data, zeros left out. Everybody's file is synced within the time: by fsync at our end,"
        + " `--flush` and `-t writeback` at the rivals'. Ours connects, copies, syncs and closes in a process that is warm;"
        + " the copy of an RBD image is qemu-img's as well, with other options, and started by us; \"as a process\" counts the start of a JVM that has the options of `./platter` and, as that, a cache of classes from the copy of"
        + " a small local disk. Every file is compared with the disk by `qemu-img compare`, and ours must not take over"
        + " 2 % more space than qemu-img's. The goal is 0.9 of the better rival. \"Ready\": a copy-on-write overlay that is on the disk, after"
        + " the server has told the size, against a process that only asks for it; the goal is "
        + GOAL_MILLIS
        + " ms more. CPU is that of all our threads and processes; the servers' is in no one's.";
  }

  @Override
  public int rounds() {
    return 7;
  }

  @Override
  public String conditions(int rounds) {
    return "Medians of " + rounds + " rounds after " + WARM_UP + " to warm up, interleaved";
  }

  @Override
  public List<Row> run(Path work, int rounds) throws Exception {
    var clones = new ArrayList<Row>();
    var overlays = new ArrayList<Row>();
    var disk = SampleDisk.make(work.resolve("disk.raw"), RUNS);
    try (var nbdkit = NbdExport.nbdkit(disk.raw(), NbdExport.Address.unix(work))) {
      var source = NetworkSource.nbd("NBD (nbdkit)", disk, nbdkit);
      clones.addAll(clone(work, source, trained(work), rounds));
      overlays.addAll(overlay(work, source, rounds));
    }
    var address = NbdExport.Address.unix(work);
    try (var qemu = NbdExport.qemuNbd(disk.raw(), "raw", "disk", address)) {
      var source = NetworkSource.nbd("NBD (qemu-nbd)", disk, qemu);
      clones.addAll(clone(work, source, null, rounds));
      overlays.addAll(overlay(work, source, rounds));
    }
    try (var tgt = IscsiTarget.start(Files.createDirectory(work.resolve("tgt")))) {
      var source = NetworkSource.iscsi("iSCSI", disk, tgt);
      clones.addAll(clone(work, source, null, rounds));
      overlays.addAll(overlay(work, source, rounds));
    }
    var ceph = ceph(work);
    if (ceph != null) {
      try (ceph) {
        var small = SampleDisk.make(work.resolve("small.raw"), RBD_RUNS);
        var source = NetworkSource.rbd("RBD", small, ceph);
        clones.addAll(clone(work, source, null, rounds));
        overlays.addAll(overlay(work, source, rounds));
      }
    }
    clones.addAll(overlays);
    return clones;
  }

  /** None where none starts: the rest is worth knowing too. */
  private static @Nullable CephCluster ceph(Path work) throws IOException {
    try {
      return CephCluster.start(Files.createDirectory(work.resolve("ceph")));
    } catch (AssertionError e) {
      System.err.println("no rows for RBD: " + e.getMessage());
      return null;
    }
  }

  /**
   * @param jvm ours as a process takes part too, if there is one
   */
  private static List<Row> clone(
      Path work, NetworkSource source, @Nullable FreshJvm jvm, int rounds) throws Exception {
    var disk = source.disk();
    var run = work.toString();
    var ours = work.resolve("ours.raw");
    var theirs = work.resolve("theirs.raw");
    var rivals = new ArrayList<>(List.of(QEMU));
    var contest =
        new Contest(WARM_UP)
            .with(OURS, () -> disk.removed(ours, warm(work, source, ours)))
            .with(QEMU, () -> disk.removed(theirs, Tool.time(qemu(source, theirs))));
    if (source.speaksNbd()) {
      rivals.add(NBDCOPY);
      contest.with(NBDCOPY, () -> disk.removed(theirs, Tool.time(nbdcopy(source, theirs))));
    }
    if (jvm != null) {
      var arguments = new ArrayList<>(source.arguments());
      arguments.addAll(List.of(run, ours.toString()));
      contest.with(COLD, () -> disk.removed(ours, jvm.time(arguments.toArray(String[]::new))));
    }
    var outcomes = contest.run(rounds);
    warm(work, source, ours);
    Tool.time(qemu(source, theirs));
    SampleDisk.sameSpace(ours, theirs);
    var name = "clone, " + source.name();
    var rows = new ArrayList<>(rows(name, outcomes, OURS, rivals));
    if (jvm != null) {
      rows.addAll(rows(name + ", as a process", outcomes, COLD, rivals));
    }
    return rows;
  }

  private static FreshJvm trained(Path work) throws Exception {
    var disk = SampleDisk.make(work.resolve("training.raw"), TRAINING_RUNS);
    var options = "{\"driver\":\"file\",\"filename\":\"" + disk.raw() + "\"}";
    var made = work.resolve("trained.raw");
    var cache = work.resolve("once.aot");
    var jvm =
        FreshJvm.trained(
            CopyOnce.class,
            List.of("-XX:TieredStopAtLevel=1"),
            cache,
            options,
            work.toString(),
            made.toString());
    Files.delete(made);
    return jvm;
  }

  private static Stopwatch.Reading warm(Path work, NetworkSource source, Path to)
      throws IOException {
    var watch = Stopwatch.startForAllThreads();
    source.copy(work, to);
    return watch.stop();
  }

  private static String[] qemu(NetworkSource source, Path to) {
    return words(QEMU, "-f", "raw", "-O", "raw", source.uri(), to.toString());
  }

  private static String[] nbdcopy(NetworkSource source, Path to) {
    return words(NBDCOPY, source.uri(), to.toString());
  }

  private static String[] words(String command, String... arguments) {
    var words = new ArrayList<>(List.of(command.split(" ")));
    words.addAll(List.of(arguments));
    return words.toArray(String[]::new);
  }

  private static List<Row> overlay(Path work, NetworkSource source, int rounds) throws Exception {
    var rivals = new ArrayList<>(List.of(INFO));
    var contest =
        new Contest(WARM_UP)
            .with(OURS, () -> ready(work, source))
            .with(INFO, () -> Tool.time(words(INFO, "-f", "raw", source.uri())));
    if (source.speaksNbd()) {
      rivals.add(NBDINFO);
      contest.with(NBDINFO, () -> Tool.time(words(NBDINFO, source.uri())));
    }
    var outcomes = contest.run(rounds);
    var name = "ready, " + source.name();
    var rows = new ArrayList<>(rows(name, outcomes, OURS, rivals));
    var ours = Contest.outcome(outcomes, OURS).median();
    var info = Contest.outcome(outcomes, INFO).median();
    var goal = info.millis() + GOAL_MILLIS;
    var what = "%s and %d ms".formatted(INFO, GOAL_MILLIS);
    rows.add(Row.of(name, ours.millis(), goal, what, "ms"));
    return rows;
  }

  /** What the step of a plan does, and what it made is such an overlay. */
  private static Stopwatch.Reading ready(Path work, NetworkSource source) throws Exception {
    var overlay = work.resolve("overlay.qcow2");
    var backing = new Qcow2Overlay.Backing(source.plan().toString(), "raw");
    var watch = Stopwatch.startForAllThreads();
    long size;
    try (var disk = source.open(work)) {
      size = disk.size();
    }
    Qcow2Overlay.create(overlay, backing, size);
    var reading = watch.stop();
    var said = Tool.output("qemu-img", "info", overlay.toString());
    if (!said.contains("(" + source.disk().size() + " bytes)")) {
      throw new IOException("the overlay is not as large as " + source.uri() + ": " + said);
    }
    Files.delete(overlay);
    return reading;
  }

  private static List<Row> rows(
      String name, Map<String, Contest.Outcome> outcomes, String ours, List<String> rivals) {
    var our = Contest.outcome(outcomes, ours).median();
    return rivals.stream()
        .map(rival -> Row.of(name, our, Contest.outcome(outcomes, rival).median(), rival))
        .toList();
  }
}
