package dev.platter.bench;

import dev.platter.image.qcow2.Clusters;
import dev.platter.image.qcow2.Qcow2Overlay;
import dev.platter.image.qcow2.Qcow2Overlay.Backing;
import dev.platter.image.raw.RawDisk;
import dev.platter.image.raw.SparseFile;
import dev.platter.lab.NbdExport;
import dev.platter.model.IdentityKey;
import dev.platter.node.move.Credentials;
import dev.platter.node.move.MoveServer;
import dev.platter.node.move.MoveSource;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Random;

/** How long the disk of an identity takes to another node, beside a plain copy of its bytes. */
final class MoveBenchmark implements Benchmark {
  private static final int WARM_UP = 1;
  private static final long GIGABIT = 1_000_000_000 / 8;
  private static final String OURS = "ours";
  private static final String NBDCOPY = "nbdcopy --flush";
  private static final IdentityKey KEY = new IdentityKey("default", "bench");

  /** Of 8 MiB each; less to see that it works. */
  private static final int RUNS = Integer.getInteger("bench.move.runs", 128);

  @Override
  public String name() {
    return "move";
  }

  @Override
  public String description() {
    return "An identity whose guest has written "
        + RUNS * SampleDisk.RUN / (1 << 20)
        + " MiB moves to another node: from the call of the node that wants it to an overlay that is synced, over"
        + " mutual TLS and with all digests checked, against `nbdcopy --flush` of the same bytes from nbdkit (a raw file, zeros left out, no"
        + " TLS, no digests). Both go over the same link, which a proxy makes one of 1 Gbit/s with 0.2 ms, or directly over loopback, where both"
        + " ends and all of the work share the processors. Data is what compresses by half, or random bytes. What came is compared with `qemu-img"
        + " compare`. The goal is 1.3 times the rival's time at most: a ratio of 0.77 here.";
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
    var rows = new ArrayList<Row>();
    var disk = SampleDisk.make(work.resolve("disk.raw"), RUNS);
    var shape = new ShapedLink.Shape(GIGABIT, Duration.ofNanos(200_000));
    rows.addAll(contest("1 Gbit/s", work, disk, Optional.of(shape), rounds));
    rows.addAll(contest("loopback", work, disk, Optional.empty(), rounds));
    Files.delete(disk.raw());
    var random = random(work.resolve("random.raw"));
    rows.addAll(contest("1 Gbit/s, random bytes", work, random, Optional.of(shape), rounds));
    rows.addAll(contest("loopback, random bytes", work, random, Optional.empty(), rounds));
    return rows;
  }

  private static SampleDisk random(Path file) throws IOException {
    var random = new Random(2);
    var run = new byte[(int) SampleDisk.RUN];
    try (var out = Files.newOutputStream(file)) {
      for (var i = 0; i < RUNS; i++) {
        random.nextBytes(run);
        out.write(run);
      }
    }
    return new SampleDisk(file, RUNS * SampleDisk.RUN);
  }

  private static List<Row> contest(
      String name, Path work, SampleDisk disk, Optional<ShapedLink.Shape> shape, int rounds)
      throws Exception {
    var base = work.resolve("base.raw");
    var overlay = work.resolve("overlay.qcow2");
    var backing = new Backing(base.toString(), "raw");
    SparseFile.create(base, disk.size());
    try (var raw = RawDisk.open(disk.raw())) {
      Qcow2Overlay.create(overlay, backing, disk.size(), Clusters.of(raw));
    }
    var ours = work.resolve("ours.qcow2");
    var theirs = work.resolve("theirs.raw");
    var here = Credentials.make("here");
    var there = Credentials.make("there");
    try (var server = server(there, overlay, base);
        var nbd = NbdExport.nbdkit(disk.raw(), NbdExport.Address.tcp());
        var ourLink = link("127.0.0.1:" + server.port(), shape);
        var theirLink = link(address(nbd), shape)) {
      var source = new MoveSource(socket(ourLink.address()), there.fingerprint());
      var uri = "nbd://" + theirLink.address() + "/";
      var outcomes =
          new Contest(WARM_UP)
              .with(OURS, () -> compared(disk, ours, move(source, here, ours, backing)))
              .with(
                  NBDCOPY,
                  () ->
                      disk.removed(theirs, Tool.time("nbdcopy", "--flush", uri, theirs.toString())))
              .run(rounds);
      return List.of(
          Row.of(
              name,
              Contest.outcome(outcomes, OURS).median(),
              Contest.outcome(outcomes, NBDCOPY).median(),
              NBDCOPY));
    } finally {
      Files.delete(base);
      Files.delete(overlay);
    }
  }

  /** A link, or none. */
  private record Link(Optional<ShapedLink> shaped, String address) implements AutoCloseable {
    @Override
    public void close() throws IOException {
      if (shaped.isPresent()) {
        shaped.get().close();
      }
    }
  }

  private static Link link(String server, Optional<ShapedLink.Shape> shape) throws IOException {
    if (shape.isEmpty()) {
      return new Link(Optional.empty(), server);
    }
    var link = new ShapedLink(server, shape.get());
    return new Link(Optional.of(link), link.address());
  }

  private static String address(NbdExport export) {
    if (export.address() instanceof NbdExport.Address.Tcp(var host, var port)) {
      return host + ":" + port;
    }
    throw new IllegalArgumentException(export.uri() + " is not at a port");
  }

  private static InetSocketAddress socket(String address) {
    var colon = address.lastIndexOf(':');
    return new InetSocketAddress(
        address.substring(0, colon), Integer.parseInt(address.substring(colon + 1)));
  }

  private static MoveServer server(Credentials own, Path overlay, Path base) throws IOException {
    var loan =
        new MoveServer.Loan() {
          @Override
          public Path file() {
            return overlay;
          }

          @Override
          public Path base() {
            return base;
          }

          @Override
          public boolean lasts() {
            return true;
          }
        };
    return MoveServer.start(
        new InetSocketAddress(InetAddress.getLoopbackAddress(), 0),
        own,
        _ -> Optional.of("here"),
        (_, _, _, _) -> loan,
        System.err::println);
  }

  private static Stopwatch.Reading move(
      MoveSource source, Credentials own, Path to, Backing backing) throws IOException {
    var watch = Stopwatch.startForAllThreads();
    try (var offer = source.ask(own, KEY, "uid", false)) {
      offer.pull(
          to,
          backing,
          new MoveSource.Watcher() {
            @Override
            public void room(long bytes) {}

            @Override
            public void bytes(long done, long total) {}
          });
    }
    return watch.stop();
  }

  private static Stopwatch.Reading compared(
      SampleDisk disk, Path overlay, Stopwatch.Reading reading) throws Exception {
    Tool.time(
        "qemu-img",
        "compare",
        "-f",
        "raw",
        "-F",
        "qcow2",
        disk.raw().toString(),
        overlay.toString());
    Files.delete(overlay);
    return reading;
  }
}
