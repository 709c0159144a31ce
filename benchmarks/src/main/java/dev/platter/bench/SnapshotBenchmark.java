package dev.platter.bench;

import dev.platter.cluster.csi.CsiServer;
import dev.platter.lab.Shell;
import dev.platter.model.ByteSize;
import dev.platter.node.volumes.VolumeDirectory;
import dev.platter.node.volumes.VolumeStore;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.stream.Stream;

/** How long a driver takes for a snapshot and for a clone. */
final class SnapshotBenchmark implements Benchmark {
  private static final String OURS = "platter";
  private static final String RIVAL = "csi-driver-host-path";
  private static final long SMALL = 4L << 30;
  private static final long LARGE = 100L << 30;
  private static final long WRITTEN = 1L << 30;
  private static final int EXTENTS = 4000;

  @Override
  public String name() {
    return "snapshot";
  }

  @Override
  public String description() {
    return "A block volume with 1 GiB written; CreateSnapshot and CreateVolume from the volume, over the driver's unix"
        + " socket, until it answers. Platter's pool is on the file system of the machine, with the XFS that it makes"
        + " itself if that cannot share blocks. The rival, v1.7.2, copies. It writes a clone in full, so the two are"
        + " compared with a volume of 4 GiB; that of 100 GiB is ours alone.";
  }

  @Override
  public int rounds() {
    return 5;
  }

  @Override
  public String conditions(int rounds) {
    return "Medians of " + rounds + " rounds after one to warm up, interleaved";
  }

  @Override
  public List<Row> run(Path work, int rounds) throws Exception {
    var pool = work.resolve("pool");
    var rivals = Files.createDirectories(work.resolve("rival"));
    var rows = new ArrayList<Row>();
    try (var directory = VolumeDirectory.open(pool, ByteSize.of(4 * LARGE));
        var _ = CsiServer.start(work, "node", VolumeStore.open(directory));
        var ours = new CsiClient(work.resolve("plugins/local.csi.platter.dev/csi.sock"));
        var _ = rival(rivals);
        var rival = new CsiClient(rivals.resolve("csi.sock"))) {
      var mine = written(pool.resolve("volumes/volumes"), ours.create("small", SMALL));
      var its = written(rivals.resolve("data"), rival.create("small", SMALL));
      rows.add(
          row("snapshot, 4 GiB", rounds, () -> snapshot(ours, mine), () -> snapshot(rival, its)));
      rows.add(
          row(
              "clone, 4 GiB",
              rounds,
              () -> clone(ours, mine, SMALL),
              () -> clone(rival, its, SMALL)));
      rival.delete(its);
      var large = written(pool.resolve("volumes/volumes"), ours.create("large", LARGE));
      rows.add(alone("snapshot, 100 GiB", rounds, () -> snapshot(ours, large)));
      rows.add(alone("clone, 100 GiB", rounds, () -> clone(ours, large, LARGE)));
      var scattered = ours.create("scattered", LARGE);
      scatter(file(pool.resolve("volumes/volumes"), scattered));
      rows.add(
          alone("snapshot, 100 GiB in 4,000 extents", rounds, () -> snapshot(ours, scattered)));
      for (var volume : List.of(mine, large, scattered)) {
        ours.delete(volume);
      }
    }
    return rows;
  }

  private static Rival rival(Path directory) throws IOException, InterruptedException {
    var built = Shell.run(Path.of(System.getProperty("repo.root"), "lab/kube/csi/build")).strip();
    var process =
        new ProcessBuilder(
                built + "/hostpathplugin",
                "--drivername=hostpath.csi.k8s.io",
                "--endpoint=unix://" + directory.resolve("csi.sock"),
                "--nodeid=node",
                "--statedir=" + Files.createDirectories(directory.resolve("data")))
            .redirectErrorStream(true)
            .redirectOutput(directory.resolve("log").toFile())
            .start();
    for (int tries = 0; !Files.exists(directory.resolve("csi.sock")); tries++) {
      if (tries == 1000 || !process.isAlive()) {
        process.destroyForcibly();
        throw new IOException(Files.readString(directory.resolve("log")));
      }
      Thread.sleep(10);
    }
    return new Rival(process);
  }

  private record Rival(Process process) implements AutoCloseable {
    @Override
    public void close() {
      process.destroyForcibly().onExit().join();
    }
  }

  private static Row row(String name, int rounds, Contest.Contender ours, Contest.Contender rival)
      throws Exception {
    var outcomes = new Contest(1).with(OURS, ours).with(RIVAL, rival).run(rounds);
    return Row.of(
        name,
        Contest.outcome(outcomes, OURS).median().millis(),
        Contest.outcome(outcomes, RIVAL).median().millis(),
        RIVAL,
        "ms");
  }

  private static Row alone(String name, int rounds, Contest.Contender ours) throws Exception {
    var outcomes = new Contest(1).with(OURS, ours).run(rounds);
    return Row.alone(name, Contest.outcome(outcomes, OURS).median().millis(), "ms");
  }

  private static Stopwatch.Reading snapshot(CsiClient driver, String volume) {
    var watch = Stopwatch.start();
    var snapshot = driver.snapshot("snapshot-" + System.nanoTime(), volume);
    var reading = watch.stop();
    driver.deleteSnapshot(snapshot);
    return reading;
  }

  private static Stopwatch.Reading clone(CsiClient driver, String volume, long size) {
    var watch = Stopwatch.start();
    var clone = driver.clone("clone-" + System.nanoTime(), size, volume);
    var reading = watch.stop();
    driver.delete(clone);
    return reading;
  }

  /** Drivers keep a volume in a file that has its id in the name. */
  private static Path file(Path directory, String volume) throws IOException {
    var id = volume.replaceFirst("\\..*", "");
    try (Stream<Path> files = Files.list(directory)) {
      return files
          .filter(file -> file.toString().contains(id) && !file.toString().endsWith(".json"))
          .findFirst()
          .orElseThrow();
    }
  }

  private static String written(Path directory, String volume) throws IOException {
    var random = new Random(1);
    var piece = new byte[1 << 20];
    try (var channel = FileChannel.open(file(directory, volume), StandardOpenOption.WRITE)) {
      for (var at = 0L; at < WRITTEN; at += piece.length) {
        random.nextBytes(piece);
        channel.write(ByteBuffer.wrap(piece), at);
      }
      channel.force(true);
    }
    return volume;
  }

  private static void scatter(Path file) throws IOException {
    try (var channel = FileChannel.open(file, StandardOpenOption.WRITE)) {
      for (var i = 0L; i < EXTENTS; i++) {
        channel.write(ByteBuffer.allocate(1 << 16), ((i * (LARGE / EXTENTS)) >> 16) << 16);
      }
      channel.force(true);
    }
  }
}
