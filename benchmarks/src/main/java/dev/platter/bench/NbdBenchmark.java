package dev.platter.bench;

import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.io.UncheckedIOException;
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

/** How fast blocks that are in memory reach a client, and what that costs the server. */
final class NbdBenchmark implements Benchmark {
  private static final long BYTES = 1L << 30;
  private static final String PROCESSOR = processor();
  private static final ObjectMapper JSON = new ObjectMapper();

  private static final String OURS = "platter";
  private static final String NBDKIT = "nbdkit file";
  private static final String QEMU = "qemu-nbd -e 8";

  /** One way to read: its name, its unit, how much a round reads in that unit, and the client. */
  private record Load(String name, String unit, double amount, Client client) {}

  /** Reads once from a server and tells how many milliseconds that took. */
  private interface Client {
    double millis(String uri) throws Exception;
  }

  @Override
  public String name() {
    return "nbd";
  }

  @Override
  public String description() {
    return "Blocks of a 1 GiB file in the page cache, over a unix socket, read-only, structured replies on. Sequential:"
        + " `nbdcopy --no-extents … null:`, its start counted. Random: 4 KiB reads by fio's nbd engine. Each server is a"
        + " process of its own and stays up for all rounds; CPU is the server's, for each round (1 GiB, or all reads of a"
        + " round). With one request at a time most of it is waking each other up, and the kernel wakes some servers on the"
        + " client's processor and others on another, which takes longer; \"on one processor\" all servers and the client"
        + " are bound to it. The bytes that each server sends are compared with the file, before and after.";
  }

  @Override
  public List<Row> run(Path work, int rounds) throws Exception {
    var file = file(work.resolve("disk.raw"));
    var rows = new ArrayList<Row>();
    try (var ours = new ServerProcess(work.resolve("ours.sock"), ours(file, work));
        var nbdkit = new ServerProcess(work.resolve("nbdkit.sock"), nbdkit(file, work));
        var qemu = new ServerProcess(work.resolve("qemu.sock"), qemu(file, work))) {
      var servers = new LinkedHashMap<String, ServerProcess>();
      servers.put(OURS, ours);
      servers.put(NBDKIT, nbdkit);
      servers.put(QEMU, qemu);
      check(file, work, servers);
      for (var load : loads()) {
        rows.addAll(contest(load, servers, rounds));
      }
      for (var server : servers.values()) {
        server.pin(PROCESSOR);
      }
      rows.addAll(contest(onOneProcessor(), servers, rounds));
      check(file, work, servers);
    }
    return rows;
  }

  /** The first of those that this process may use. */
  private static String processor() {
    try {
      return Files.readAllLines(Path.of("/proc/self/status")).stream()
          .filter(line -> line.startsWith("Cpus_allowed_list:"))
          .map(line -> line.replaceFirst("\\D+(\\d+).*", "$1"))
          .findFirst()
          .orElseThrow();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static List<Load> loads() {
    return List.of(
        new Load("sequential", "MB/s", BYTES / 1e6, NbdBenchmark::copy),
        random(16, 40_000),
        random(1, 10_000));
  }

  private static Load random(int depth, int reads) {
    return new Load(
        "4 KiB random, depth " + depth, "IOPS", reads, uri -> fio(uri, depth, reads, List.of()));
  }

  private static Load onOneProcessor() {
    var there = List.of("taskset", "-c", PROCESSOR);
    return new Load(
        "the same, on one processor", "IOPS", 10_000, uri -> fio(uri, 1, 10_000, there));
  }

  private static List<Row> contest(Load load, Map<String, ServerProcess> servers, int rounds)
      throws Exception {
    var contest = new Contest();
    servers.forEach((name, server) -> contest.with(name, () -> round(load, server)));
    var outcomes = contest.run(rounds);
    var rows = new ArrayList<Row>();
    for (var rival : List.of(NBDKIT, QEMU)) {
      rows.add(row(load, Contest.outcome(outcomes, OURS), Contest.outcome(outcomes, rival), rival));
    }
    return rows;
  }

  private static Stopwatch.Reading round(Load load, ServerProcess server) throws Exception {
    var cpu = server.cpuMillis();
    var millis = load.client.millis(server.uri());
    return new Stopwatch.Reading(millis, server.cpuMillis() - cpu);
  }

  private static Row row(Load load, Contest.Outcome ours, Contest.Outcome rival, String name) {
    var ourRate = load.amount / (ours.median().millis() / 1000);
    var rivalRate = load.amount / (rival.median().millis() / 1000);
    return new Row(
        load.name,
        ourRate,
        rivalRate,
        name,
        ourRate / rivalRate,
        load.unit,
        ours.median().cpuMillis(),
        rival.median().cpuMillis());
  }

  private static double copy(String uri) throws Exception {
    return Tool.time("nbdcopy", "--no-extents", uri, "null:").millis();
  }

  private static double fio(String uri, int depth, int reads, List<String> through)
      throws Exception {
    var command = new ArrayList<>(through);
    command.addAll(
        List.of(
            "fio",
            "--name=random",
            "--ioengine=nbd",
            "--uri=" + uri,
            "--rw=randread",
            "--bs=4k",
            "--size=" + BYTES,
            "--iodepth=" + depth,
            "--number_ios=" + reads,
            "--output-format=json"));
    var said = Tool.output(command.toArray(String[]::new));
    var read = JSON.readTree(said.substring(said.indexOf('{'))).at("/jobs/0/read");
    if (read.get("total_ios").asInt() != reads) {
      throw new IOException("fio did " + read.get("total_ios") + " reads, not " + reads);
    }
    return reads / read.get("iops").asDouble() * 1000;
  }

  private static void check(Path file, Path work, Map<String, ServerProcess> servers)
      throws Exception {
    for (var server : servers.entrySet()) {
      var copy = work.resolve("copy.raw");
      Tool.time("nbdcopy", server.getValue().uri(), copy.toString());
      if (Files.mismatch(file, copy) >= 0) {
        throw new IOException(server.getKey() + " sends other bytes than the file has");
      }
      Files.delete(copy);
    }
  }

  private static List<String> ours(Path file, Path work) {
    return List.of(
        ProcessHandle.current().info().command().orElse("java"),
        "-XX:+UseSerialGC",
        "-Xmx64m",
        "--enable-native-access=ALL-UNNAMED",
        "-cp",
        System.getProperty("java.class.path"),
        NbdServe.class.getName(),
        file.toString(),
        work.resolve("ours.sock").toString());
  }

  private static List<String> nbdkit(Path file, Path work) {
    var socket = work.resolve("nbdkit.sock").toString();
    return List.of("nbdkit", "-f", "-r", "-U", socket, "file", file.toString());
  }

  private static List<String> qemu(Path file, Path work) {
    var socket = work.resolve("qemu.sock").toString();
    return List.of("qemu-nbd", "-r", "-t", "-e", "8", "-f", "raw", "-k", socket, file.toString());
  }

  private static Path file(Path file) throws IOException {
    var random = new Random(1);
    var piece = new byte[1 << 20];
    try (var channel =
        FileChannel.open(file, StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE)) {
      for (var at = 0L; at < BYTES; at += piece.length) {
        random.nextBytes(piece);
        channel.write(ByteBuffer.wrap(piece), at);
      }
      channel.force(true);
    }
    return file;
  }
}
