package dev.platter.node;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.platter.dialect.Manifests;
import dev.platter.lab.Shell;
import dev.platter.model.PlatterException;
import dev.platter.model.Vm;
import dev.platter.node.libvirt.PrivateLibvirtExtension;
import dev.platter.plan.StateLayout;
import dev.platter.plan.VmKey;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;

/** A pool of 10 MiB, and copies of a disk that has 4. */
class PoolLimitTest {
  @RegisterExtension static final PrivateLibvirtExtension LIBVIRT = new PrivateLibvirtExtension();

  @TempDir Path work;
  private Path pool;
  private GuestNode guest;

  @BeforeEach
  void openNode() throws IOException {
    pool = Files.createDirectory(work.resolve("pool"));
    Files.writeString(
        config(work),
        """
        annotations:
          kubevirt.io/storage.usage-type.small: %s
          platter.dev/storage.limit.small: 10Mi
        """
            .formatted(pool));
    Shell.run("qemu-img", "create", "-q", "-f", "raw", work.resolve("master.raw"), "4M");
    Shell.run("qemu-io", "-f", "raw", "-c", "write -P 7 0 4M", work.resolve("master.raw"));
    guest = open(Progress.NONE);
  }

  private GuestNode open(Progress progress) {
    return new GuestNode(work, LIBVIRT.uri(), List.of(), Optional.of(config(work)), progress);
  }

  private static Path config(Path work) {
    return work.resolve("node.yaml");
  }

  @AfterEach
  void closeNode() throws IOException {
    guest.close();
  }

  private static Vm vm(String name, String disk) {
    return Manifests.read(
            "t.yaml",
            "kind: VM\nmetadata: {name: %s}\nspec: {domain: {memory: {guest: 32Mi}, devices: {disks: [%s]}}}\n"
                .formatted(name, disk))
        .getFirst();
  }

  private static Vm clone(Path work, String name) {
    return vm(
        name,
        "{name: d, source: {file: %s}, copy: {mode: clone, usage-type: small}, keep: true}"
            .formatted(work.resolve("master.raw")));
  }

  private Vm blank(String name) {
    return vm(
        name, "{name: d, source: {blank: {}}, size: 1Gi, copy: {usage-type: small}, keep: true}");
  }

  private List<String> files() throws IOException {
    try (var files = Files.list(pool)) {
      return files.map(file -> file.getFileName().toString()).sorted().toList();
    }
  }

  @Test
  void aCopyThatDoesNotFitIsRefusedAndLeavesNothing() throws IOException {
    guest.node().run(clone(work, "a"));
    guest.node().run(clone(work, "b"));
    var before = files();
    assertThatThrownBy(() -> guest.node().run(clone(work, "c")))
        .isInstanceOfSatisfying(
            PlatterException.class,
            refused -> {
              assertThat(refused.code()).isEqualTo(PlatterException.Code.UNAVAILABLE);
              assertThat(refused)
                  .hasMessage(
                      "the pool small (%s) has a limit of 10 MiB and 8 MiB of it are used or reserved: a copy that can take 4 MiB does not fit"
                          .formatted(pool));
              assertThat(refused.next())
                  .contains("platter.dev/storage.limit.small in " + config(work));
            });
    assertThat(files()).isEqualTo(before);
    assertThat(guest.node().list()).hasSize(2);
    guest.node().remove(new VmKey("default", "a"), true);
    guest.node().run(clone(work, "c"));
  }

  @Test
  void blankDisksAreMadeUntilTheLimitIsReached() throws IOException {
    guest.node().run(blank("a"));
    var disk = pool.resolve(StateLayout.diskFile(blank("a").uuid(), "d", "raw"));
    // As its guest would; qemu-io finds the disk locked.
    Shell.run(
        "dd", "if=/dev/urandom", "of=" + disk, "bs=1M", "count=10", "conv=notrunc", "status=none");
    assertThatThrownBy(() -> guest.node().run(blank("b")))
        .hasMessageContaining("no disk can be made there");
    assertThat(files()).hasSize(1);
    guest.node().remove(new VmKey("default", "a"), true);
    guest.node().run(blank("b"));
  }

  @Test
  void roomIsReservedWhileACopyIsWritten() throws Exception {
    var copying = new CountDownLatch(1);
    var goOn = new CountDownLatch(1);
    var slow =
        new Progress() {
          @Override
          public void bytes(String what, long done, long total) {
            copying.countDown();
            try {
              goOn.await(1, TimeUnit.MINUTES);
            } catch (InterruptedException e) {
              throw new IllegalStateException(e);
            }
          }
        };
    guest.node().run(clone(work, "a"));
    try (var other = LocalNode.open(config(), slow);
        var threads = Executors.newSingleThreadExecutor()) {
      var start = threads.submit(() -> other.run(clone(work, "slow")));
      try {
        assertThat(copying.await(1, TimeUnit.MINUTES)).isTrue();
        assertThatThrownBy(() -> guest.node().run(clone(work, "b")))
            .hasMessageContaining("8 MiB of it are used or reserved");
      } finally {
        goOn.countDown();
      }
      assertThat(start.get().phase()).isEqualTo(VmStatus.Phase.RUNNING);
    }
  }

  private NodeConfig config() {
    return config(work, LIBVIRT.uri());
  }

  private static NodeConfig config(Path work, String uri) {
    return new NodeConfig(
        new StateLayout(work.resolve("state"), work.resolve("run")),
        Optional.of(uri),
        Optional.empty(),
        List.of(),
        Optional.of(config(work)));
  }

  @Test
  void startsAtTheSameTimeDoNotOverrunTheLimitTogether() throws Exception {
    var refused = 0;
    try (var threads = Executors.newFixedThreadPool(4)) {
      List<Future<VmStatus>> starts = new ArrayList<>();
      for (var name : List.of("a", "b", "c", "d")) {
        starts.add(
            threads.submit(
                () -> {
                  try (var node = LocalNode.open(config(), Progress.NONE)) {
                    return node.run(clone(work, name));
                  }
                }));
      }
      for (var start : starts) {
        try {
          start.get();
        } catch (ExecutionException e) {
          assertThat(e.getCause()).hasMessageContaining("does not fit");
          refused++;
        }
      }
    }
    assertThat(refused).isEqualTo(2);
    assertThat(files()).hasSize(2);
  }

  @Test
  void whatAKilledProcessReservedIsFreeAgain() throws Exception {
    guest.node().run(clone(work, "a"));
    assertThat(Killed.run(work, LIBVIRT.uri())).isTrue();
    assertThat(files()).as("it died while it copied").hasSize(2);
    assertThatThrownBy(() -> guest.node().run(clone(work, "b")))
        .hasMessageContaining("8 MiB of it are used or reserved");
    guest.node().tidy();
    assertThat(files()).hasSize(1);
    guest.node().run(clone(work, "b"));
  }

  /** A process of its own that dies by SIGKILL while it copies. */
  static final class Killed implements Progress {
    static boolean run(Path work, String uri) throws Exception {
      var process =
          new ProcessBuilder(
                  Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                  "-XX:TieredStopAtLevel=1",
                  "--enable-native-access=ALL-UNNAMED",
                  "-cp",
                  System.getProperty("java.class.path"),
                  Killed.class.getName(),
                  work.toString(),
                  uri)
              .inheritIO()
              .start();
      return process.waitFor(1, TimeUnit.MINUTES) && process.exitValue() == 128 + 9;
    }

    public static void main(String[] args) throws Exception {
      var work = Path.of(args[0]);
      try (var node = LocalNode.open(config(work, args[1]), new Killed())) {
        node.run(PoolLimitTest.clone(work, "killed"));
      }
    }

    @Override
    public void bytes(String what, long done, long total) {
      try {
        new ProcessBuilder("sh", "-c", "kill -9 " + ProcessHandle.current().pid())
            .start()
            .waitFor();
        Thread.sleep(10_000);
      } catch (IOException | InterruptedException e) {
        throw new IllegalStateException(e);
      }
    }
  }
}
