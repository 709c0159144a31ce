package dev.platter.e2e;

import static org.assertj.core.api.Assertions.assertThat;

import dev.platter.lab.FileServer;
import dev.platter.lab.Shell;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Imports and uploads are killed (SIGKILL) at random moments and made again: the disk must be there
 * byte for byte, it must not have been called complete before, and nothing may be left over. Not a
 * test of every day: {@code ./chaos fills}.
 */
class Fills {
  private static final List<String> SOURCES = List.of("raw", "qcow2", "qcow2.gz", "raw.zst");

  private static final int CONFLICT = 5;

  private final int kills = Integer.getInteger("chaos.kills", 50);
  private final long seed = Long.getLong("chaos.seed", System.nanoTime() % 1_000_000);
  private final Random random = new Random(seed);
  private final Instant began = Instant.now();

  /** How long it takes if nobody is killed, by source and target. */
  private final Map<String, Duration> whole = new TreeMap<>();

  /** What the killed had left, and how often. */
  private final Map<String, Integer> found = new TreeMap<>();

  @TempDir private Path dir;
  private Path raw;
  private Path web;
  private FileServer server;

  @BeforeEach
  void makeDisks() throws IOException {
    raw = dir.resolve("disk.raw");
    web = Files.createDirectory(dir.resolve("web"));
    Shell.run(
        "sh",
        "-c",
        "cd %s; for i in 1 2 3 4; do head -c 24M /dev/urandom | dd status=none conv=notrunc bs=1M seek=$((i * 40)) of=disk.raw; done; truncate -s 224M disk.raw; cp --sparse=always disk.raw web/raw"
            .formatted(dir));
    Shell.run("qemu-img", "convert", "-f", "raw", "-O", "qcow2", raw, web.resolve("qcow2"));
    Shell.run("gzip", "-1", "-k", web.resolve("qcow2"));
    Shell.run("zstd", "-q", raw, "-o", web.resolve("raw.zst"));
    server = FileServer.http(web);
  }

  @AfterEach
  void end() {
    server.close();
  }

  @Test
  void importsAreMadeRight() throws Exception {
    say("%d imports, seed %d", kills, seed);
    for (var i = 0; i < kills; i++) {
      var source = SOURCES.get(random.nextInt(SOURCES.size()));
      try (var target = FillVictim.some(random, dir, raw)) {
        bring(source, target, List.of("import", server.url(source), target.path().toString()));
      }
    }
    say("all imports are whole; the killed had left %s", found);
  }

  private void bring(String source, FillVictim target, List<String> words) throws Exception {
    var after = at(source, target, () -> run(target, words));
    target.empty();
    var process = target.start(words);
    Thread.sleep(after);
    process.destroyForcibly().waitFor();
    count(target.state());
    again(target, words);
    target.check();
  }

  @Test
  void archivesAreMadeRight() throws Exception {
    say("%d archives, seed %d", kills, seed);
    var tree = dir.resolve("tree");
    Shell.run(
        "sh",
        "-ec",
        """
        cd %s; for i in $(seq 40); do mkdir -p tree/$i/deep; for j in $(seq 50); do echo $i $j > tree/$i/deep/$j; done; done
        ln -s /etc tree/out; ln tree/1/deep/1 tree/hard; cp --sparse=always disk.raw tree/large; chmod -R a-w tree/7
        tar -czf web/tree.tar.gz -C tree .
        """
            .formatted(dir));
    for (var i = 0; i < kills; i++) {
      try (var target = FillVictim.tree(dir, tree)) {
        var url = server.url("tree.tar.gz");
        var to = target.path().toString();
        bring("tree.tar.gz", target, List.of("import", url, to, "--format", "tar"));
      }
    }
    say("all archives are whole; the killed had left %s", found);
  }

  @Test
  void uploadsAreMadeRight() throws Exception {
    say("%d uploads, seed %d", kills, seed);
    for (var i = 0; i < kills; i++) {
      var source = SOURCES.get(random.nextInt(SOURCES.size()));
      var file = web.resolve(source).toString();
      var killServer = random.nextBoolean();
      try (var target = FillVictim.some(random, dir, raw)) {
        var after =
            at(
                source + " upload",
                target,
                () -> {
                  try (var up = target.serve()) {
                    run(target, List.of("upload", file, up.url()));
                  }
                });
        target.empty();
        try (var up = target.serve()) {
          var client = target.start(List.of("upload", file, up.url()));
          Thread.sleep(after);
          var victim = killServer ? up.process() : client;
          victim.destroyForcibly().waitFor();
          count((killServer ? "server: " : "client: ") + target.state());
          if (!killServer && up.process().isAlive()) {
            run(target, List.of("upload", file, up.url()));
          }
          client.destroyForcibly().waitFor();
        }
        if (target.isComplete()) {
          again(target, target.server("--listen", "127.0.0.1:0"));
        } else {
          try (var up = target.serve()) {
            run(target, List.of("upload", file, up.url()));
          }
        }
        target.check();
      }
    }
    say("all uploads are whole; the killed had left %s", found);
  }

  /** What takes as long as nobody is killed. */
  @FunctionalInterface
  private interface Work {
    void run() throws Exception;
  }

  /** A random moment of it. */
  private Duration at(String source, FillVictim target, Work work) throws Exception {
    var key = source + " to " + target.kind();
    if (!whole.containsKey(key)) {
      var start = System.nanoTime();
      work.run();
      whole.put(key, Duration.ofNanos(System.nanoTime() - start));
      target.check();
    }
    return Duration.ofNanos((long) (whole.get(key).toNanos() * random.nextDouble()));
  }

  private static void run(FillVictim target, List<String> words) throws Exception {
    var process = target.start(words);
    assertThat(process.waitFor()).as("%s: %s", words, target.log()).isZero();
  }

  /** A file that is there already is not made again; what else is there is known. */
  private static void again(FillVictim target, List<String> words) throws Exception {
    if (target.kind() == FillVictim.Kind.FILE && target.isComplete()) {
      assertThat(target.start(words).waitFor()).as(target.log()).isEqualTo(CONFLICT);
    } else {
      run(target, words);
    }
  }

  private void count(String state) {
    found.merge(state, 1, Integer::sum);
  }

  private void say(String what, Object... values) {
    System.out.printf(
        "%4d s  %s%n", Duration.between(began, Instant.now()).toSeconds(), what.formatted(values));
  }
}
