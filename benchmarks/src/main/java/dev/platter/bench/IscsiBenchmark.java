package dev.platter.bench;

import java.io.IOException;
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

/** How fast blocks that are in memory reach an initiator and come back, and what that costs. */
final class IscsiBenchmark implements Benchmark {
  private static final long BYTES = 1L << 28;
  private static final String OURS = "platter";
  private static final String TGTD = "tgtd";

  /** One way to use a disk: its name, unit, amount a round in that unit, and the client. */
  private record Load(String name, String unit, double amount, List<String> options) {
    static Load sequential(String name, boolean writes) {
      return new Load(name, "MB/s", BYTES / 1e6, options(1 << 20, 256, 16, writes));
    }

    /** At places that are far from each other, so that nothing can be gathered. */
    static Load scattered(String name, int count, int depth, boolean writes) {
      var options = new ArrayList<>(options(4096, count, depth, writes));
      options.addAll(List.of("-S", Integer.toString(12_345 * 4096)));
      return new Load(name, "IOPS", count, options);
    }

    private static List<String> options(int size, int count, int depth, boolean writes) {
      var options = new ArrayList<String>();
      options.addAll(List.of("-s", "" + size, "-c", "" + count, "-d", "" + depth));
      if (writes) {
        options.add("-w");
      }
      return options;
    }
  }

  @Override
  public String name() {
    return "iscsi";
  }

  @Override
  public String description() {
    return "A 256 MiB file in the page cache as a LUN, over the loopback interface, one session, no digests, no CHAP."
        + " The client is `qemu-img bench`, its start counted: 1 MiB requests, 16 at a time, and 4 KiB requests at places"
        + " far from each other. Each server is a process of its own and stays up for all rounds; tgtd has its defaults"
        + " (16 threads a LUN). CPU is the server's, for each round. The bytes that each server sends are compared with"
        + " its file, before and after.";
  }

  @Override
  public List<Row> run(Path work, int rounds) throws Exception {
    var rows = new ArrayList<Row>();
    try (var ours = IscsiProcess.ours(file(work.resolve("ours.raw")));
        var tgtd = IscsiProcess.tgtd(file(work.resolve("tgtd.raw")), work)) {
      var servers = new LinkedHashMap<String, IscsiProcess>();
      servers.put(OURS, ours);
      servers.put(TGTD, tgtd);
      check(work, servers);
      for (var load : loads()) {
        rows.add(contest(load, servers, rounds));
      }
      check(work, servers);
    }
    return rows;
  }

  private static List<Load> loads() {
    return List.of(
        Load.sequential("sequential read", false),
        Load.sequential("sequential write", true),
        Load.scattered("4 KiB random read, depth 16", 20_000, 16, false),
        Load.scattered("4 KiB random write, depth 16", 20_000, 16, true),
        Load.scattered("4 KiB random read, depth 1", 5_000, 1, false));
  }

  private static Row contest(Load load, Map<String, IscsiProcess> servers, int rounds)
      throws Exception {
    var contest = new Contest();
    servers.forEach((name, server) -> contest.with(name, () -> round(load, server)));
    var outcomes = contest.run(rounds);
    var ours = Contest.outcome(outcomes, OURS).median();
    var tgtd = Contest.outcome(outcomes, TGTD).median();
    var ourRate = load.amount / (ours.millis() / 1000);
    var itsRate = load.amount / (tgtd.millis() / 1000);
    return new Row(
        load.name,
        ourRate,
        itsRate,
        TGTD,
        ourRate / itsRate,
        load.unit,
        ours.cpuMillis(),
        tgtd.cpuMillis());
  }

  private static Stopwatch.Reading round(Load load, IscsiProcess server) throws Exception {
    var command = new ArrayList<>(List.of("qemu-img", "bench", "-f", "raw", "-t", "writeback"));
    command.addAll(load.options);
    command.add(server.url());
    var cpu = server.cpuMillis();
    var millis = Tool.time(command.toArray(String[]::new)).millis();
    return new Stopwatch.Reading(millis, server.cpuMillis() - cpu);
  }

  private static void check(Path work, Map<String, IscsiProcess> servers) throws Exception {
    for (var server : servers.entrySet()) {
      var copy = work.resolve("copy.raw");
      Tool.time("qemu-img", "convert", "-O", "raw", server.getValue().url(), copy.toString());
      if (Files.mismatch(server.getValue().file(), copy) >= 0) {
        throw new IOException(server.getKey() + " sends other bytes than the file has");
      }
      Files.delete(copy);
    }
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
