package dev.platter.bench;

import dev.platter.image.oci.OciLayout;
import dev.platter.image.oci.OciLayoutWriter;
import dev.platter.image.oci.Platform;
import dev.platter.model.Identity;
import dev.platter.model.IdentityKey;
import dev.platter.model.IdentitySpec;
import dev.platter.node.IdentityDisks;
import dev.platter.node.Node;
import dev.platter.node.Progress;
import dev.platter.node.image.ImageSources;
import dev.platter.node.image.ImageUsers;
import dev.platter.node.image.LocalImages;
import dev.platter.plan.StateLayout;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.IntStream;

/** How long the disks of many identities of one image take, and their objects on a cluster. */
final class IdentitiesBenchmark implements Benchmark {
  private static final int COUNT = 1000;
  private static final int EARLY = 10;
  private static final int AT_ONCE = 2;
  private static final int WARM_UP = 2;

  /** Rounds of ours alone: a daemon is not new when it is asked for so many. */
  private static final int COMPILED = 8;

  private static final String RIVAL = "qemu-img create -b, two at a time";

  /** For who looks at one of the two alone: {@code disks}, {@code objects}. */
  private static final String PART = System.getProperty("bench.identities", "");

  @Override
  public String name() {
    return "identities";
  }

  @Override
  public String description() {
    return "The disks of 1,000 Local identities of one image that is on the node: records and overlays are on the disk"
        + " when the clock stops. The rival is `qemu-img create -b` for each, two at a time, and keeps no record."
        + " \"One at a time\" is a call for each identity, and the rival of its row is ours again, when there were few."
        + " No file is deleted before the end, since a file system may remember for seconds what was."
        + IdentityObjects.DESCRIPTION;
  }

  @Override
  public int rounds() {
    return 7;
  }

  @Override
  public String conditions(int rounds) {
    return "Medians of "
        + rounds
        + " rounds after two to warm up, interleaved; of those on a cluster "
        + IdentityObjects.ROUNDS;
  }

  @Override
  public List<Row> run(Path work, int rounds) throws Exception {
    var rows = new ArrayList<Row>();
    if (!PART.equals("objects")) {
      rows.addAll(disks(work, rounds));
    }
    if (!PART.equals("disks")) {
      rows.addAll(IdentityObjects.run(work, COUNT));
    }
    return rows;
  }

  private static List<Row> disks(Path work, int rounds) throws Exception {
    var raw = work.resolve("image.raw");
    var qcow2 = work.resolve("image.qcow2");
    Tool.time("qemu-img", "create", "-q", "-f", "qcow2", qcow2.toString(), "2G");
    Tool.time("qemu-io", "-f", "qcow2", "-c", "write -P 17 1G 8M", qcow2.toString());
    Tool.time("qemu-img", "convert", "-O", "raw", qcow2.toString(), raw.toString());
    var layout = work.resolve("layout");
    new OciLayoutWriter(layout).add("image", Platform.LINUX_AMD64, "disk.qcow2", qcow2);
    var first = new ArrayList<Stopwatch.Reading>();
    for (var i = 0; i < COMPILED; i++) {
      first.add(ours(work, raw));
    }
    var early = new ArrayList<Double>();
    var late = new ArrayList<Double>();
    var outcome =
        new Contest(WARM_UP)
            .with("ours", () -> ours(work, raw))
            .with("create", () -> rival(raw, Files.createTempDirectory(work, "rival-")))
            .with("growth", () -> growth(work, early, late))
            .run(rounds);
    var rival = Contest.outcome(outcome, "create").median();
    return List.of(
        Row.of("1,000 disks", Contest.outcome(outcome, "ours").median(), rival, RIVAL),
        Row.of("the first 1,000 of a process", first.getFirst(), rival, RIVAL),
        Row.of(
            "the last of 1,000, one at a time",
            Contest.median(late),
            Contest.median(early),
            "the 10th",
            "ms"));
  }

  /** A node that has the image and nothing else. */
  private static Node node(Path work) throws IOException {
    var own = Files.createTempDirectory(work, "node-");
    var state = new StateLayout(own.resolve("state"), own.resolve("run"));
    ImageSources sources =
        _ -> new ImageSources.Located(new OciLayout(work.resolve("layout")), "image", "image");
    var images = new LocalImages(state, sources, ImageUsers.NONE);
    var node = new Node(state, new IdleMachine(), images, Progress.NONE);
    node.pull("image");
    return node;
  }

  private static Identity identity(int number) {
    return new Identity(
        new IdentityKey("default", "vm-" + number),
        null,
        "set",
        new IdentitySpec(
            "image", null, IdentitySpec.UuidPolicy.SHARED, IdentitySpec.Type.LOCAL, null, null));
  }

  private static List<Identity> identities(int from, int to) {
    return IntStream.range(from, to).mapToObj(IdentitiesBenchmark::identity).toList();
  }

  private static Stopwatch.Reading ours(Path work, Path raw) throws Exception {
    try (var node = node(work)) {
      var disks = node.identities();
      var watch = Stopwatch.startForAllThreads();
      var outcomes = disks.ensure(identities(0, COUNT));
      var reading = watch.stop();
      for (var outcome : outcomes) {
        if (!(outcome instanceof IdentityDisks.Outcome.Ready)) {
          throw new IOException("no disk for " + outcome);
        }
      }
      compare(raw, disks.find(identity(COUNT - 1).key()).orElseThrow().file());
      return reading;
    }
  }

  /** The first calls are left out, as they touch what is cold after the others' rounds. */
  private static Stopwatch.Reading growth(Path work, List<Double> early, List<Double> late)
      throws Exception {
    try (var node = node(work)) {
      var disks = node.identities();
      for (var identity : identities(0, EARLY / 2)) {
        disks.ensure(identity);
      }
      early.add(each(disks, EARLY / 2, EARLY + EARLY / 2));
      disks.ensure(identities(EARLY + EARLY / 2, COUNT - EARLY));
      late.add(each(disks, COUNT - EARLY, COUNT));
    }
    return Stopwatch.start().stop();
  }

  private static double each(IdentityDisks disks, int from, int to) throws Exception {
    var times = new ArrayList<Double>();
    for (var identity : identities(from, to)) {
      var watch = Stopwatch.start();
      disks.ensure(identity);
      times.add(watch.stop().millis());
    }
    return Contest.median(times);
  }

  private static Stopwatch.Reading rival(Path raw, Path directory) throws Exception {
    var watch = Stopwatch.startForAllThreads();
    var results = new ArrayList<Future<?>>();
    try (var workers = Executors.newFixedThreadPool(AT_ONCE)) {
      for (var i = 0; i < COUNT; i++) {
        var overlay = directory.resolve(i + ".qcow2").toString();
        results.add(
            workers.submit(
                () ->
                    Tool.time(
                        "qemu-img",
                        "create",
                        "-q",
                        "-f",
                        "qcow2",
                        "-F",
                        "raw",
                        "-b",
                        raw.toString(),
                        overlay)));
      }
      for (var result : results) {
        result.get();
      }
    }
    var reading = watch.stop();
    compare(raw, directory.resolve(COUNT - 1 + ".qcow2"));
    return reading;
  }

  private static void compare(Path raw, Path made) throws Exception {
    Tool.time("qemu-img", "compare", "-f", "raw", "-F", "qcow2", raw.toString(), made.toString());
  }
}
