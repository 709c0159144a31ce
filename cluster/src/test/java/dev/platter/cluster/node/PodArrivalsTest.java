package dev.platter.cluster.node;

import static java.util.concurrent.TimeUnit.SECONDS;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.platter.cluster.api.MigrationPhase;
import dev.platter.cluster.api.Names;
import dev.platter.cluster.api.VirtualMachineMigration;
import dev.platter.dialect.Manifests;
import dev.platter.model.PlatterException;
import dev.platter.model.PlatterException.Code;
import dev.platter.node.GuestArrivals;
import dev.platter.node.image.Images;
import dev.platter.node.move.MoveSource;
import dev.platter.plan.Plan;
import io.fabric8.kubernetes.api.model.ObjectMetaBuilder;
import io.fabric8.kubernetes.api.model.Pod;
import io.fabric8.kubernetes.api.model.PodBuilder;
import java.io.IOException;
import java.lang.reflect.Proxy;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** VMs that come to pods, or leave them, while they run. */
class PodArrivalsTest extends PodVmsScene {
  private static VirtualMachineMigration migration(String from, String to) {
    var out = new VirtualMachineMigration();
    out.setMetadata(
        new ObjectMetaBuilder().withNamespace("default").withName("m").withUid(uid(7)).build());
    out.setSpec(new VirtualMachineMigration.Spec("db", null, null));
    out.setStatus(
        new VirtualMachineMigration.Status(
            MigrationPhase.MOVING, List.of(), from, "db", to, "", null, null, null, 1L));
    return out;
  }

  private static final class Told implements LeavingVms.Migrations {
    final BlockingQueue<VirtualMachineMigration.Status> statuses = new LinkedBlockingQueue<>();

    @Override
    public List<VirtualMachineMigration> all() {
      return List.of();
    }

    @Override
    public void status(VirtualMachineMigration migration, VirtualMachineMigration.Status status) {
      statuses.add(status);
    }
  }

  @ParameterizedTest
  @CsvSource({"7, 7", ", 150"})
  void aMigrationSaysHowLongItMayTake(Integer perGib, int seconds) {
    var peer = new MoveSource(new InetSocketAddress(InetAddress.getLoopbackAddress(), 1), "f");
    var peers =
        (IdentityMover.Peers)
            Proxy.newProxyInstance(
                getClass().getClassLoader(),
                new Class<?>[] {IdentityMover.Peers.class},
                (_, _, arguments) -> Optional.of(peer).filter(_ -> arguments[0].equals("node2")));
    var migration = migration("node1", "node2");
    migration.setSpec(new VirtualMachineMigration.Spec("db", null, perGib));
    var journey =
        new LeavingVms(new Told(), peers, "node1", vms, api, null, _ -> {}).journey(migration);
    assertThat(journey.perGib()).isEqualTo(Duration.ofSeconds(seconds));
    assertThat(journey.peer()).isEqualTo(peer);
  }

  private LeavingVms leaving(Told told) {
    return new LeavingVms(told, fake(IdentityMover.Peers.class), "node1", vms, api, null, _ -> {});
  }

  @Test
  void aMoveThatNobodyHasThoughtOfFailsAndIsNotTriedForEver() throws InterruptedException {
    objectOn("node1");
    var told = new Told();
    var odd = new IllegalStateException("odd");
    var peers =
        (IdentityMover.Peers)
            Proxy.newProxyInstance(
                getClass().getClassLoader(),
                new Class<?>[] {IdentityMover.Peers.class},
                (_, _, _) -> {
                  throw odd;
                });
    new LeavingVms(told, peers, "node1", vms, api, null, _ -> {}).look(migration("node1", "node2"));
    var status = told.statuses.poll(20, SECONDS);
    assertThat(status.phase()).isEqualTo(MigrationPhase.FAILED);
    assertThat(status.conditions().getFirst().message()).contains("odd");
  }

  @ParameterizedTest
  @CsvSource({"db-00000000, SUCCEEDED", "db-11111111, FAILED", ", FAILED"})
  void whatIsElsewhereHasMovedOnlyIfThisMoveBroughtIt(String moved, MigrationPhase phase)
      throws InterruptedException {
    api.vms.put(
        "default/db", new Api.VmObject("default", "db", uid(1), false, "db", moved, "node2"));
    var told = new Told();
    leaving(told).look(migration("node1", "node2"));
    assertThat(told.statuses.poll(20, SECONDS).phase()).isEqualTo(phase);
  }

  @Test
  void aSweepDoesNotWaitForAMoveThatIsUnderWay() throws Exception {
    object(uid(1), false);
    vms.start(pod(uid(2), description(blank("1Mi", true)), uid(1)));
    Files.writeString(layout.departure(layout.vm(KEY)), "not one");
    var moves = new CountDownLatch(1);
    var ended = new CountDownLatch(1);
    var move =
        Thread.ofVirtual()
            .start(
                () -> {
                  try (var _ = vms.lock(KEY)) {
                    moves.countDown();
                    ended.await();
                  } catch (InterruptedException e) {
                    Thread.currentThread().interrupt();
                  }
                });
    moves.await();
    assertThat(node.unsettled()).containsExactly(KEY);
    var sweep = Thread.ofVirtual().start(() -> leaving(new Told()).sweep());
    assertThat(sweep.join(Duration.ofSeconds(20))).isTrue();
    ended.countDown();
    move.join();
  }

  private Pod target() {
    return target(true);
  }

  private Pod target(boolean keep) {
    var made = pod(uid(2), description(blank("1Mi", keep)), uid(1));
    var pod =
        new PodBuilder(made)
            .editMetadata()
            .withName("db-00000000")
            .addToAnnotations(Names.MOVED_VM, "db")
            .endMetadata()
            .withNewStatus()
            .withPhase("Running")
            .endStatus()
            .build();
    api.pods.put("default/db-00000000", pod);
    return pod;
  }

  private GuestArrivals.Guest guest() {
    var migration = migration("node2", "node1");
    return new ExpectedVms((_, _) -> Optional.of(migration), "node1", vms, api)
        .admit("node2", KEY, migration.move());
  }

  @ParameterizedTest
  @ValueSource(strings = {"deleted", "finished", "gone", "another", "stopping"})
  void noVmComesToAPodThatIsEndingOrGone(String how) throws IOException {
    var pod = target();
    try (var guest = guest()) {
      switch (how) {
        case "deleted" -> pod.getMetadata().setDeletionTimestamp("2026-01-01T00:00:00Z");
        case "finished" -> pod.getStatus().setPhase("Succeeded");
        case "gone" -> api.pods.clear();
        case "another" ->
            api.pods.put(
                "default/db-00000000",
                new PodBuilder(pod).editMetadata().withUid(uid(3)).endMetadata().build());
        default -> assertThat(vms.arrivals().awaited().giveUp(pod)).isTrue();
      }
      assertThatThrownBy(guest::confirm).isInstanceOf(PlatterException.class);
    }
  }

  @Test
  void aPodCannotGiveUpAVmThatIsItsOwnByThen() throws IOException {
    var pod = target();
    try (var guest = guest()) {
      guest.confirm();
      assertThat(vms.arrivals().awaited().giveUp(pod)).isFalse();
    }
    assertThat(vms.arrivals().awaited().giveUp(pod)).as("it has come, or does not").isTrue();
  }

  private static Plan sent(UUID vm, String digest) {
    var images = Map.of("a.example/b:c", digest);
    return new Plan(Plan.VERSION, "default", "db", vm, "", images, Map.of(), List.of(), List.of());
  }

  private static UUID vm() {
    return Manifests.read("db", description(blank("1Mi", true))).getFirst().uuid();
  }

  @Test
  void aVmThatIsOnItsWayAndDoesNotComeLeavesNothing() throws IOException {
    target();
    objectOn("node2");
    try (var guest = guest()) {
      var known = guest.prepare(sent(vm(), "sha256:" + "0".repeat(64)));
      assertThat(known.planned().plan().uuid()).isEqualTo(vm());
      assertThat(starts.pod(vm())).isPresent();
      assertThat(owners.all()).hasSize(1);
    }
    assertThat(starts.pod(vm())).isEmpty();
    assertThat(owners.all()).isEmpty();
    assertThat(vms.count()).isZero();
  }

  /** Directories are called after digests, and what is in the way there is removed. */
  @ParameterizedTest
  @ValueSource(strings = {"../../../../etc", "..", "sha256:../../x", "sha256:0"})
  void whatIsNoDigestIsRefusedBeforeAnythingIsMade(String digest) throws IOException {
    target();
    objectOn("node2");
    try (var guest = guest()) {
      assertThatThrownBy(() -> guest.prepare(sent(vm(), digest)))
          .isInstanceOfSatisfying(
              PlatterException.class, e -> assertThat(e.code()).isEqualTo(Code.REFUSED))
          .hasMessageContaining("no digest");
      assertThat(owners.all()).isEmpty();
    }
  }

  /** Without its start a VM's process would be put into no pod. */
  @Test
  void aSenderThatNamesAnotherVmDoesNotTouchTheStartOfThat() throws IOException {
    var pod = target();
    objectOn("node2");
    var other = UUID.randomUUID();
    starts.begin(other, pod, new StartClock(), Images.BytesDone.NOBODY);
    try (var guest = guest()) {
      assertThatThrownBy(() -> guest.prepare(sent(other, "sha256:" + "0".repeat(64))))
          .isInstanceOf(PlatterException.class)
          .hasMessageContaining("is of another VM");
    }
    assertThat(starts.pod(other)).isPresent();
  }

  /** The node that it came from may say again that it comes. */
  @Test
  void aVmThatIsHereIsNotReplacedByOneThatIsSent() throws IOException {
    object(uid(1), false);
    vms.start(pod(uid(2), description(blank("1Mi", false)), uid(1)));
    target(false);
    objectOn("node1");
    try (var guest = guest()) {
      assertThatThrownBy(() -> guest.prepare(sent(vm(), "sha256:" + "0".repeat(64))))
          .isInstanceOfSatisfying(
              PlatterException.class, e -> assertThat(e.code()).isEqualTo(Code.CONFLICT))
          .hasMessageContaining("is not on node2 any more");
    }
    assertThat(running).containsExactly(vm());
    assertThat(disks()).isEqualTo(1);
  }
}
