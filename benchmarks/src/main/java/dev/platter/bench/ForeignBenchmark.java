package dev.platter.bench;

import dev.platter.bench.ShapedLink.Shape;
import dev.platter.lab.Registry;
import java.io.IOException;
import java.net.SocketException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;

/** Images that nobody packed for us: by an index from an earlier pass, and in the first pass. */
final class ForeignBenchmark implements Benchmark {
  /** Most of them take seconds. */
  private static final int ROUNDS = 5;

  private static final int WARM_UP = 2;
  private static final int BLOCK = 64 << 10;
  private static final double MB = 1e6;
  private static final Shape LINK = new Shape(125_000_000, Duration.ofMillis(10));
  private static final Shape NEAR = new Shape(0, Duration.ZERO);

  private static final String OURS = "ours";
  private static final String NBDKIT = "nbdkit curl + gzip + tar";
  private static final String PULL = "skopeo + tar + qemu-img convert";

  @Override
  public String name() {
    return "foreign";
  }

  @Override
  public String description() {
    return "An ordinary image, one layer made by `tar` and `gzip -6` of a qcow2 with "
        + OrdinaryImage.COPIES
        + " times the data of a Debian. \"With index\": a node that has read the layer before, kept its index and"
        + " removed the image; from the digest to 64 KiB at a random place, over NBD, against nbdkit's curl"
        + " plugin with the gzip and tar filters on the same blob (any place of the qcow2 in it is good enough for"
        + " the rival). \"First pass\": a node that knows nothing of the layer; until its first sector can be read, and"
        + " until the base is complete, verified and sealed and the index is kept, against skopeo copy, tar -x, qemu-img convert -m 16"
        + " -W to raw. On the link: 125 MB/s, 10 ms; else straight to the registry, where the network is no limit. Our"
        + " CPU is that of the daemon, a process of its own, all of its threads. All bytes are compared with the disk.";
  }

  @Override
  public String conditions(int rounds) {
    return "Medians of " + ROUNDS + " rounds after " + WARM_UP + " to warm up, interleaved";
  }

  @Override
  public List<Row> run(Path work, int rounds) throws Exception {
    try (var registry = Registry.start();
        var daemon = new WarmDaemon()) {
      var ordinary = OrdinaryImage.push(work, registry.address());
      var indexes = index(daemon, work, registry, ordinary);
      var rows = new ArrayList<Row>();
      rows.addAll(withIndex(daemon, work, registry, ordinary, indexes));
      rows.add(
          Row.of("the index", size(indexes) / MB, ordinary.layerSize() / MB, "the layer", "MB"));
      rows.addAll(firstPass(daemon, work, registry, ordinary, NEAR, ""));
      rows.addAll(firstPass(daemon, work, registry, ordinary, LINK, " on the link"));
      return rows;
    }
  }

  /** What a node keeps of a layer that it has read. */
  private static Path index(WarmDaemon daemon, Path work, Registry registry, OrdinaryImage ordinary)
      throws Exception {
    var kept = work.resolve("indexes");
    var directory = work.resolve("node");
    try (var node = daemon.serve(directory)) {
      node.complete(ordinary.image().at(registry.address()), ordinary.image().digest());
      Files.move(node.layout().indexes(), kept);
    } finally {
      Tool.cleanUp("rm", "-rf", directory.toString());
    }
    return kept;
  }

  private static long size(Path directory) throws IOException {
    try (var files = Files.list(directory)) {
      return files.mapToLong(file -> file.toFile().length()).sum();
    }
  }

  private static List<Row> withIndex(
      WarmDaemon daemon, Path work, Registry registry, OrdinaryImage ordinary, Path indexes)
      throws Exception {
    var random = new Random(1);
    var ours = new ArrayList<FirstRead>();
    var rival = new ArrayList<FirstRead>();
    var outcomes =
        new Contest(WARM_UP)
            .with(
                OURS, () -> kept(ours, byIndex(daemon, work, registry, ordinary, indexes, random)))
            .with(NBDKIT, () -> kept(rival, nbdkit(work, registry, ordinary, random)))
            .run(ROUNDS);
    return List.of(
        Row.of(
            "64 KiB with index",
            Contest.outcome(outcomes, OURS).median(),
            Contest.outcome(outcomes, NBDKIT).median(),
            NBDKIT),
        Row.of(
            "bytes for it",
            FirstRead.median(ours, WARM_UP).bytes() / MB,
            FirstRead.median(rival, WARM_UP).bytes() / MB,
            NBDKIT,
            "MB"));
  }

  private static Stopwatch.Reading kept(List<FirstRead> reads, FirstRead read) {
    reads.add(read);
    return read.reading();
  }

  private static FirstRead byIndex(
      WarmDaemon daemon,
      Path work,
      Registry registry,
      OrdinaryImage ordinary,
      Path indexes,
      Random random)
      throws Exception {
    var directory = work.resolve("node");
    var images = Files.createDirectories(LabNode.layout(directory).images());
    Tool.time("cp", "-r", indexes.toString(), images.toString());
    return FirstRead.measure(
        daemon,
        directory,
        registry,
        ordinary.image(),
        ordinary.raw(),
        ordinary.dataBlock(random),
        BLOCK,
        LINK);
  }

  private static FirstRead nbdkit(
      Path work, Registry registry, OrdinaryImage ordinary, Random random) throws Exception {
    var socket = work.resolve("nbdkit.sock");
    var offset = random.nextLong(Files.size(ordinary.qcow2()) / BLOCK) * BLOCK;
    var requests = registry.requests().size();
    try (var link = new ShapedLink(registry.address(), LINK)) {
      var blob = "http://" + link.address() + "/v2/disks/ordinary/blobs/" + ordinary.layer();
      var watch = Stopwatch.start();
      var process =
          new ProcessBuilder(
                  "nbdkit",
                  "-f",
                  "-r",
                  "-U",
                  socket.toString(),
                  "--filter=tar",
                  "--filter=gzip",
                  "curl",
                  "url=" + blob,
                  "tar-entry=disk/disk.qcow2")
              .inheritIO()
              .start();
      Stopwatch.Reading reading;
      byte[] bytes;
      try {
        try (var disk = connect(socket, process)) {
          bytes = disk.read(offset, BLOCK);
          reading = watch.stop();
        }
      } finally {
        process.destroy();
        process.waitFor();
        Files.deleteIfExists(socket);
      }
      FirstRead.requireSame(ordinary.qcow2(), offset, bytes);
      return new FirstRead(
          new Stopwatch.Reading(reading.millis(), watch.stop().cpuMillis()),
          link.bytes(),
          link.connections(),
          registry.requests().size() - requests);
    }
  }

  /** There is a moment between the socket's appearance and the first call that it takes. */
  private static NbdReader connect(Path socket, Process server) throws Exception {
    for (var tries = 0; tries < 10_000 && server.isAlive(); tries++) {
      try {
        return NbdReader.connect(socket, "");
      } catch (SocketException e) {
        Thread.sleep(1);
      }
    }
    throw new IOException("nbdkit does not listen");
  }

  private static List<Row> firstPass(
      WarmDaemon daemon,
      Path work,
      Registry registry,
      OrdinaryImage ordinary,
      Shape shape,
      String where)
      throws Exception {
    var firstReads = new ArrayList<Stopwatch.Reading>();
    var outcomes =
        new Contest(WARM_UP)
            .with(OURS, () -> streamed(daemon, work, registry, ordinary, shape, firstReads))
            .with(PULL, () -> pulled(work, registry, ordinary, shape))
            .run(ROUNDS);
    var rival = Contest.outcome(outcomes, PULL).median();
    return List.of(
        Row.of(
            "first pass" + where + ", first read",
            Contest.outcome(firstReads, WARM_UP).median(),
            rival,
            PULL),
        Row.of(
            "first pass" + where + ", complete",
            Contest.outcome(outcomes, OURS).median(),
            rival,
            PULL));
  }

  private static Stopwatch.Reading streamed(
      WarmDaemon daemon,
      Path work,
      Registry registry,
      OrdinaryImage ordinary,
      Shape shape,
      List<Stopwatch.Reading> firstReads)
      throws Exception {
    var directory = work.resolve("node");
    try (var link = new ShapedLink(registry.address(), shape);
        var node = daemon.serve(directory)) {
      var address = shape.equals(NEAR) ? registry.address() : link.address();
      var reference = ordinary.image().at(address);
      var digest = ordinary.image().digest();
      var watch = daemon.startWatch();
      byte[] sector;
      try (var disk = node.open(reference, digest)) {
        sector = disk.read(0, 512);
        firstReads.add(watch.stop());
      }
      var base = node.complete(reference, digest);
      var reading = watch.stop();
      FirstRead.requireSame(ordinary.raw(), 0, sector);
      requireSame(ordinary.raw(), base);
      return reading;
    } finally {
      Tool.cleanUp("rm", "-rf", directory.toString());
    }
  }

  private static Stopwatch.Reading pulled(
      Path work, Registry registry, OrdinaryImage ordinary, Shape shape) throws Exception {
    var directory = Files.createDirectory(work.resolve("pull"));
    try (var link = new ShapedLink(registry.address(), shape)) {
      var address = shape.equals(NEAR) ? registry.address() : link.address();
      var layout = directory.resolve("image");
      var layer = layout.resolve(ordinary.layer().toString().substring("sha256:".length()));
      var raw = directory.resolve("disk.raw");
      var watch = Stopwatch.start();
      Tool.time(
          "skopeo",
          "copy",
          "-q",
          "--src-tls-verify=false",
          "docker://" + ordinary.image().at(address),
          "dir:" + layout);
      Tool.time("tar", "-C", directory.toString(), "-xzf", layer.toString());
      Tool.time(
          "qemu-img",
          "convert",
          "-m",
          "16",
          "-W",
          "-O",
          "raw",
          directory.resolve("disk/disk.qcow2").toString(),
          raw.toString());
      var reading = watch.stop();
      requireSame(ordinary.raw(), raw);
      return reading;
    } finally {
      Tool.cleanUp("rm", "-rf", directory.toString());
    }
  }

  private static void requireSame(Path raw, Path made) throws IOException {
    if (Files.mismatch(raw, made) >= 0) {
      throw new IOException(made.getFileName() + " has other bytes than the disk");
    }
  }
}
