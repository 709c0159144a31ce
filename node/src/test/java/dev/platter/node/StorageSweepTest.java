package dev.platter.node;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.platter.lab.LoopDevice;
import dev.platter.lab.Shell;
import dev.platter.node.libvirt.PrivateLibvirtExtension;
import dev.platter.plan.Step;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.HashSet;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.TestFactory;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;

/**
 * As {@link KillSweepTest}, for a VM whose disks are a server's and a claim's: killed after every
 * step, in the middle of a copy from the network and of a record, and once more while that is
 * undone. No lease, secret, reader or file is left that a VM in this state has no use for; what is
 * in a claim stays, whoever made it; masters are never written to.
 */
class StorageSweepTest {
  private static final String CLAIMED = "written by a guest";

  @RegisterExtension static final PrivateLibvirtExtension LIBVIRT = new PrivateLibvirtExtension();

  @TempDir static Path work;
  private static SweepStorage storage;
  private static Sweep sweep;

  @BeforeAll
  static void serve() throws IOException {
    assumeTrue(LoopDevice.isPossible(), "no loop devices: not root, or no driver");
    storage = new SweepStorage(work);
    sweep = new Sweep(work, LIBVIRT, storage.manifest());
    sweep.makeForeigners();
  }

  @BeforeEach
  void startForeignDomain() throws IOException {
    sweep.startForeignDomain();
  }

  @AfterAll
  static void stopServing() throws Exception {
    if (sweep != null) {
      sweep.removeForeignSecret();
    }
    if (storage != null) {
      storage.close();
    }
  }

  private interface Body {
    void run(Node node, String moment) throws Exception;
  }

  private static DynamicTest test(String moment, Body body) {
    return DynamicTest.dynamicTest(
        moment,
        () -> {
          try (var node = sweep.node()) {
            body.run(node, moment);
            sweep.assertForeignersAreUntouched();
            storage.assertUnchanged();
          }
        });
  }

  @TestFactory
  Stream<DynamicTest> killedWhileItIsMade() throws IOException {
    var moments = Stream.concat(sweep.moments("after"), Stream.of("bytes", "bytes:fill"));
    return Stream.concat(
        moments.map(moment -> test(moment, StorageSweepTest::whileMade)),
        firstOfEachKind("unrecorded").map(moment -> test(moment, StorageSweepTest::whileUndone)));
  }

  /** Steps of one kind are undone alike, and a torn record means the same to them. */
  private static Stream<String> firstOfEachKind(String phase) throws IOException {
    var steps = sweep.steps();
    var seen = new HashSet<Class<?>>();
    return IntStream.range(0, steps.size())
        .filter(i -> !(steps.get(i) instanceof Step.CheckDevice))
        .filter(i -> !(steps.get(i) instanceof Step.CheckDiskImg))
        .filter(i -> seen.add(steps.get(i).getClass()))
        .mapToObj(i -> phase + ":" + i);
  }

  private static void whileMade(Node node, String moment) throws Exception {
    storage.emptyClaim();
    kill("run", moment);
    node.tidy();
    if (isLast(moment)) {
      assertRuns(node);
      node.remove(Sweep.KEY, true);
    }
    sweep.assertNothingIsLeft();
    if (isAfter(Step.MakeDiskImg.class, moment)) {
      assertThat(storage.diskImg()).hasSize(3 << 20);
    }
    storage.assertClaimIsWhatItsRecordSays(isAfter(Step.FillClaim.class, moment));
    if (moment.equals("bytes:fill")) {
      sweep.run(node);
      assertRuns(node);
      node.remove(Sweep.KEY, true);
      storage.assertClaimIsWhatItsRecordSays(true);
    }
  }

  /** Whoever comes to undo the step that is in doubt is killed too, before it does. */
  private static void whileUndone(Node node, String moment) throws Exception {
    kill("run", moment);
    var step = sweep.steps().get(Integer.parseInt(moment.replaceAll("\\D", "")));
    if (step instanceof Step.MakeDiskImg img) {
      // It was killed between giving the file its name and taking away the first one.
      Files.createLink(Path.of(img.unfinished()), storage.diskImg());
    }
    kill("tidy", moment.replace("unrecorded:", "beforeUndo:"));
    node.tidy();
    sweep.assertNothingIsLeft();
  }

  private static void kill(String command, String moment) throws Exception {
    assertThat(sweep.kill(command, moment)).as("the process died at " + moment).isTrue();
  }

  private static boolean isLast(String moment) throws IOException {
    return moment.equals("after:" + (sweep.steps().size() - 1));
  }

  private static boolean isAfter(Class<? extends Step> kind, String moment) throws IOException {
    var kinds = sweep.steps().stream().map(Object::getClass).toList();
    return moment.startsWith("after:")
        && Integer.parseInt(moment.substring("after:".length())) >= kinds.indexOf(kind);
  }

  @TestFactory
  Stream<DynamicTest> killedWhileItIsStartedAgain() throws IOException {
    var moments = Stream.concat(sweep.moments(Step.Life.RUN, "after"), Stream.of("bytes"));
    return Stream.of(
            Stream.of(test("at first", (node, _) -> makeAndStop(node))),
            moments.map(moment -> test(moment, StorageSweepTest::whileStartedAgain)),
            Stream.of(test("at last", (node, _) -> startAndRemove(node))))
        .flatMap(tests -> tests);
  }

  private static void makeAndStop(Node node) throws IOException {
    make(node);
    node.stop(Sweep.KEY, Duration.ZERO);
    assertIsStopped(node);
  }

  private static void make(Node node) throws IOException {
    sweep.run(node);
    try (var file = FileChannel.open(storage.diskImg(), StandardOpenOption.WRITE)) {
      file.write(ByteBuffer.wrap(CLAIMED.getBytes()));
    }
  }

  private static void whileStartedAgain(Node node, String moment) throws Exception {
    kill("start", moment);
    node.tidy();
    if (isLast(moment)) {
      assertRuns(node);
      node.stop(Sweep.KEY, Duration.ZERO);
    }
    assertIsStopped(node);
  }

  private static void startAndRemove(Node node) throws IOException {
    assertThatThrownBy(() -> node.start(Sweep.KEY)).hasMessage("there is no Secret default/chap");
    assertIsStopped(node);
    sweep.startAgain(node);
    assertRuns(node);
    node.remove(Sweep.KEY, true);
    sweep.assertNothingIsLeft();
    assertClaimIsKept();
  }

  @TestFactory
  Stream<DynamicTest> killedWhileItIsStopped() throws IOException {
    return Stream.concat(
        sweep
            .moments(Step.Life.RUN, "afterUndo")
            .map(moment -> test(moment, StorageSweepTest::whileStopped)),
        Stream.of(test("at last", (node, _) -> startAndRemove(node))));
  }

  private static void whileStopped(Node node, String moment) throws Exception {
    if (node.list().isEmpty()) {
      make(node);
    } else {
      sweep.startAgain(node);
    }
    kill("stop", moment);
    node.tidy();
    assertIsStopped(node);
  }

  @TestFactory
  Stream<DynamicTest> killedWhileItIsRemoved() throws IOException {
    return firstOfEachKind("unrecordedUndo")
        .map(moment -> test(moment, StorageSweepTest::whileRemoved));
  }

  private static void whileRemoved(Node node, String moment) throws Exception {
    make(node);
    kill("rm", moment);
    node.tidy();
    sweep.assertNothingIsLeft();
    assertClaimIsKept();
  }

  private static void assertClaimIsKept() {
    assertThat(storage.diskImg()).content().startsWith(CLAIMED);
  }

  private static void assertIsStopped(Node node) throws IOException {
    assertThat(node.status(Sweep.KEY).phase()).isEqualTo(VmStatus.Phase.STOPPED);
    sweep.assertNothingRuns();
    var overlay = sweep.disk("cow", "qcow2");
    assertThat(sweep.disks()).containsExactly(overlay.getFileName().toString());
    assertThat(sweep.leases()).as("that of what the overlay lies on").hasSize(1);
    assertClaimIsKept();
  }

  private static void assertRuns(Node node) throws IOException {
    assertThat(node.status(Sweep.KEY).phase()).isEqualTo(VmStatus.Phase.RUNNING);
    assertThat(sweep.qemu().state()).isEqualTo("running");
    sweep.qemu().check(17, "1M");
    Shell.run(
        "qemu-img",
        "compare",
        "-U",
        "-f",
        "raw",
        "-F",
        "qcow2",
        storage.content(),
        sweep.disk("cow", "qcow2"));
    assertThat(Files.mismatch(storage.content(), sweep.disk("clone", "raw"))).isEqualTo(-1);
    assertThat(sweep.leases()).hasSize(4);
    assertThat(storage.diskImg()).hasSize(3 << 20);
  }
}
