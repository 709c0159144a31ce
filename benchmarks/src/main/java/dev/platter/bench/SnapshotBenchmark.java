package dev.platter.bench;

import dev.platter.cluster.csi.CsiServer;
import dev.platter.lab.Shell;
import dev.platter.model.ByteSize;
import dev.platter.node.volumes.DrawnVolumes;
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

  @Override
  public String name() {
    return "snapshot";
  }

  @Override
  public String description() {
    return "CreateSnapshot and CreateVolume from a block volume, over the driver's unix socket, until it answers."
        + " Platter's pool is on the file system of the machine, with the XFS that it makes itself if that cannot share"
        + " blocks. The rival, v1.7.2, copies, and writes a clone in full: the two are compared with a volume of 4 GiB,"
        + " 1 GiB of it written in 8 runs. The rival of those of 100 GiB with 10 GiB written is ours again, with a volume of"
        + " 4 GiB whose 1 GiB is in as many extents: a ratio of 1 is a time that does not depend on the size. What it takes"
        + " for each extent is XFS's own work. A clone of each is compared with its volume by `qemu-img compare`. The goal is"
        + " a ratio of 50 to the other driver, and times that are flat in size.";
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
        var drawn =
            DrawnVolumes.start(
                VolumeStore.open(directory), CsiServer.drawnFiles(work), work.resolve("no.sock"));
        var _ = CsiServer.start(work, "node", drawn);
        var ours = new CsiClient(work.resolve("plugins/local.csi.platter.dev/csi.sock"));
        var _ = rival(rivals);
        var rival = new CsiClient(rivals.resolve("csi.sock"))) {
      var volumes = pool.resolve("volumes/volumes");
      var theirs = rivals.resolve("data");
      var mine = ours.create("small", SMALL);
      write(file(volumes, mine), SMALL, 1L << 30, 8);
      var its = rival.create("small", SMALL);
      write(file(theirs, its), SMALL, 1L << 30, 8);
      rows.add(
          row(
              "snapshot, 4 GiB",
              rounds,
              () -> snapshot(ours, mine),
              RIVAL,
              () -> snapshot(rival, its)));
      rows.add(
          row(
              "clone, 4 GiB",
              rounds,
              () -> clone(ours, mine, SMALL),
              RIVAL,
              () -> clone(rival, its, SMALL)));
      compare(ours, volumes, mine, SMALL);
      compare(rival, theirs, its, SMALL);
      rival.delete(its);
      ours.delete(mine);
      for (var extents : List.of(10, 1000, 4000)) {
        var large = ours.create("large-" + extents, LARGE);
        write(file(volumes, large), LARGE, 10L << 30, extents);
        var small = ours.create("small-" + extents, SMALL);
        write(file(volumes, small), SMALL, 1L << 30, extents);
        var name = "100 GiB, %,d extents".formatted(extents);
        var ofFour = "ours, 4 GiB in as many";
        rows.add(
            row(
                "snapshot, " + name,
                rounds,
                () -> snapshot(ours, large),
                ofFour,
                () -> snapshot(ours, small)));
        rows.add(
            row(
                "clone, " + name,
                rounds,
                () -> clone(ours, large, LARGE),
                ofFour,
                () -> clone(ours, small, SMALL)));
        compare(ours, volumes, large, LARGE);
        compare(ours, volumes, small, SMALL);
        ours.delete(large);
        ours.delete(small);
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

  private static Row row(
      String name, int rounds, Contest.Contender ours, String rival, Contest.Contender theirs)
      throws Exception {
    var outcomes = new Contest(1).with(OURS, ours).with(rival, theirs).run(rounds);
    return Row.of(
        name,
        Contest.outcome(outcomes, OURS).median().millis(),
        Contest.outcome(outcomes, rival).median().millis(),
        rival,
        "ms");
  }

  private static Stopwatch.Reading snapshot(CsiClient driver, String volume)
      throws InterruptedException {
    var watch = Stopwatch.start();
    var snapshot = driver.snapshot("snapshot-" + System.nanoTime(), volume);
    var reading = watch.stop();
    driver.deleteSnapshot(snapshot);
    settle();
    return reading;
  }

  private static Stopwatch.Reading clone(CsiClient driver, String volume, long size)
      throws InterruptedException {
    var watch = Stopwatch.start();
    var clone = driver.clone("clone-" + System.nanoTime(), size, volume);
    var reading = watch.stop();
    driver.delete(clone);
    settle();
    return reading;
  }

  /** A file system gives blocks back after the file is gone; the next round is not about that. */
  private static void settle() throws InterruptedException {
    Thread.sleep(1000);
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

  /** Writes so many bytes, in runs that are equally long and equally far from each other. */
  private static void write(Path file, long size, long bytes, int runs) throws IOException {
    var random = new Random(1);
    var piece = new byte[1 << 16];
    var length = ((bytes / runs) >> 16) << 16;
    try (var channel = FileChannel.open(file, StandardOpenOption.WRITE)) {
      for (var run = 0L; run < runs; run++) {
        var start = ((run * (size / runs)) >> 16) << 16;
        for (var at = 0L; at < length; at += piece.length) {
          random.nextBytes(piece);
          channel.write(ByteBuffer.wrap(piece), start + at);
        }
      }
      channel.force(true);
    }
  }

  private static void compare(CsiClient driver, Path directory, String volume, long size)
      throws IOException, InterruptedException {
    var clone = driver.clone("compared", size, volume);
    Shell.run(
        "qemu-img",
        "compare",
        "-f",
        "raw",
        "-F",
        "raw",
        file(directory, volume),
        file(directory, clone));
    driver.delete(clone);
  }
}
