package dev.platter.bench;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** How long a disk takes from a web server, or from a client that sends it, to a volume. */
final class ImportBenchmark implements Benchmark {
  private static final int WARM_UP = 1;
  private static final double MIB = 1 << 20;
  private static final String OURS = "platter";
  private static final String CDI = "CDI";
  private static final String BARE = "received and written alone";

  /** Of 8 MiB each; less to see that it works. */
  private static final int RUNS = Integer.getInteger("bench.import.runs", 32);

  /** How a disk is packed, and by which commands: IN is the raw disk, OUT what is sent. */
  private record Kind(String name, String made) {}

  private static final List<Kind> KINDS =
      List.of(
          new Kind("raw", "ln IN OUT"),
          new Kind("qcow2", "qemu-img convert -f raw -O qcow2 IN OUT"),
          new Kind("compressed qcow2", "qemu-img convert -c -f raw -O qcow2 IN OUT"),
          new Kind(
              "qcow2.gz",
              "qemu-img convert -f raw -O qcow2 IN OUT.tmp && gzip -c OUT.tmp >OUT && rm OUT.tmp"),
          new Kind("raw.xz", "xz -T 0 -1 -c IN >OUT"),
          new Kind("raw.zst", "zstd -q -c IN >OUT"));

  @Override
  public String name() {
    return "import";
  }

  @Override
  public String description() {
    return "A disk of "
        + size() / (1 << 20)
        + " MiB, half of it data that compress by half, to a volume with a file system (ext4), where it is raw and synced. \"Import\": from a web"
        + " server (busybox), from the start of the command to its end, against the importer of KubeVirt's CDI v1.65.0, built from source, with"
        + " a directory for its scratch space. \"Upload\": by `curl`, from its start to the answer that all is there, against CDI's upload"
        + " server; both servers are up before, and speak plain HTTP. Both commands are what a pod would run, each a process of its own whose start"
        + " counts, and each syncs the disk before it ends; ours has its SHA-256 then, CDI's none. Disk is the most that target and scratch space take at any moment. What arrives is compared byte for byte."
        + " \"Received and written alone\" is what an upload takes that is neither unpacked, decoded nor hashed, but for zeros written as it comes,"
        + " and synced: what it costs without anything that is done with it. The goal is a ratio of 2.";
  }

  private static long size() {
    return 2L * RUNS * SampleDisk.RUN;
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
    var cdi = Cdi.in(work);
    var platter = PlatterCommand.built();
    var disk = SampleDisk.make(work.resolve("disk.raw"), RUNS);
    var web = Files.createDirectory(work.resolve("web"));
    var port = IscsiProcess.freePort();
    var server =
        new ProcessBuilder("busybox", "httpd", "-f", "-p", "127.0.0.1:" + port, "-h", "" + web)
            .start();
    var url = "http://127.0.0.1:%d/disk".formatted(port);
    var rows = new ArrayList<Row>();
    try {
      for (var kind : KINDS) {
        var file = web.resolve("disk");
        Tool.time("sh", "-c", kind.made.replace("IN", "" + disk.raw()).replace("OUT", "" + file));
        var round = new Rounds(work, disk, platter, cdi, file, url, new HashMap<>());
        rows.addAll(round.imports("import " + kind.name, rounds));
        rows.addAll(round.uploads("upload " + kind.name, rounds));
        Files.delete(file);
      }
    } finally {
      server.destroyForcibly().waitFor();
    }
    return rows;
  }

  /** One file, brought by either. */
  private record Rounds(
      Path work,
      SampleDisk disk,
      PlatterCommand platter,
      Cdi cdi,
      Path file,
      String url,
      Map<String, Long> peaks) {

    List<Row> imports(String name, int rounds) throws Exception {
      return rows(name, contest(this::ours, this::theirs).run(rounds));
    }

    List<Row> uploads(String name, int rounds) throws Exception {
      var contest = contest(this::uploadToUs, this::uploadToThem);
      var outcomes =
          contest
              .with(BARE, () -> watched(BARE, List.of(volume()), this::uploadToNobody))
              .run(rounds);
      var rows = new ArrayList<>(rows(name, outcomes));
      var bare = Contest.outcome(outcomes, BARE).median();
      rows.add(Row.of(name + ", " + BARE, bare, Contest.outcome(outcomes, CDI).median(), CDI));
      return rows;
    }

    private Contest contest(Contest.Contender ours, Contest.Contender theirs) {
      peaks.clear();
      return new Contest(WARM_UP)
          .with(OURS, () -> watched(OURS, List.of(volume()), ours))
          .with(CDI, () -> watched(CDI, List.of(cdi.data(), cdi.scratch()), theirs));
    }

    private List<Row> rows(String name, Map<String, Contest.Outcome> outcomes) {
      return List.of(
          Row.of(
              name,
              Contest.outcome(outcomes, OURS).median(),
              Contest.outcome(outcomes, CDI).median(),
              CDI),
          Row.of(name + ", disk", peak(OURS), peak(CDI), CDI, "MiB"));
    }

    private double peak(String whose) {
      return peaks.getOrDefault(whose, 0L) / MIB;
    }

    private Path volume() {
      return work.resolve("volume");
    }

    private Stopwatch.Reading watched(
        String whose, List<Path> directories, Contest.Contender contender) throws Exception {
      Files.createDirectories(volume());
      try (var peak = new PeakDisk(directories)) {
        var reading = contender.round();
        peaks.merge(whose, peak.most(), Math::max);
        for (var directory : directories) {
          var made = directory.resolve("disk.img");
          if (Files.exists(made)) {
            Tool.time("cmp", disk.raw().toString(), made.toString());
          }
          Tool.time("sh", "-c", "rm -rf " + directory + "/*");
        }
        return reading;
      }
    }

    Stopwatch.Reading ours() throws Exception {
      return Tool.time(platter.words("import", url, volume(), "--state", work.resolve("state")));
    }

    Stopwatch.Reading theirs() throws Exception {
      return cdi.importFrom(url, disk.size());
    }

    Stopwatch.Reading uploadToUs() throws Exception {
      var server =
          new ProcessBuilder(
                  platter.words(
                      "upload-server",
                      volume(),
                      "--open",
                      "--listen",
                      "127.0.0.1:0",
                      "--state",
                      work.resolve("state")))
              .redirectError(ProcessBuilder.Redirect.INHERIT)
              .start();
      try (var lines = server.inputReader(StandardCharsets.UTF_8)) {
        var address = lines.readLine();
        if (address == null) {
          throw new IOException("our upload server has ended");
        }
        return sent("-T", file.toString(), address);
      } finally {
        server.waitFor();
      }
    }

    Stopwatch.Reading uploadToThem() throws Exception {
      var port = IscsiProcess.freePort();
      var server = cdi.serve(port, disk.size());
      var base = "http://127.0.0.1:" + port;
      try {
        Tool.time(
            "curl",
            "-sf",
            "--retry",
            "100",
            "--retry-delay",
            "0",
            "--retry-connrefused",
            base + "/healthz");
        return sent("-X", "POST", "-T", file.toString(), base + "/v1beta1/upload");
      } finally {
        cdi.ended(server);
      }
    }

    Stopwatch.Reading uploadToNobody() throws Exception {
      var target = Files.createDirectories(volume()).resolve("received");
      try (var server = new BareReceiver(target)) {
        return sent("-T", file.toString(), server.address());
      } finally {
        Files.deleteIfExists(target);
      }
    }

    /** The CPU time is the client's, which says nothing. */
    private static Stopwatch.Reading sent(String... words) throws Exception {
      var command = new ArrayList<>(List.of("curl", "-sf", "-H", "Expect:"));
      command.addAll(List.of(words));
      var reading = Tool.time(command.toArray(String[]::new));
      return new Stopwatch.Reading(reading.millis(), Double.NaN);
    }
  }
}
