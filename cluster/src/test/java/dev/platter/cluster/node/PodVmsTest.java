package dev.platter.cluster.node;

import static java.util.concurrent.TimeUnit.SECONDS;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.platter.cluster.api.MigrationPhase;
import dev.platter.cluster.api.Names;
import dev.platter.cluster.api.VirtualMachineMigration;
import dev.platter.dialect.Manifests;
import dev.platter.model.Claim;
import dev.platter.model.PlatterException;
import dev.platter.model.PlatterException.Code;
import dev.platter.node.GuestArrivals;
import dev.platter.node.Hypervisor;
import dev.platter.node.LiveDisks;
import dev.platter.node.Machine;
import dev.platter.node.Node;
import dev.platter.node.image.Images;
import dev.platter.plan.FillRecord;
import dev.platter.plan.NodeFacts.Accelerator;
import dev.platter.plan.Plan;
import dev.platter.plan.StateLayout;
import dev.platter.plan.VmKey;
import io.fabric8.kubernetes.api.model.ObjectMetaBuilder;
import io.fabric8.kubernetes.api.model.OwnerReferenceBuilder;
import io.fabric8.kubernetes.api.model.PersistentVolumeBuilder;
import io.fabric8.kubernetes.api.model.PersistentVolumeClaim;
import io.fabric8.kubernetes.api.model.PersistentVolumeClaimBuilder;
import io.fabric8.kubernetes.api.model.Pod;
import io.fabric8.kubernetes.api.model.PodBuilder;
import io.fabric8.kubernetes.api.model.Quantity;
import java.io.IOException;
import java.lang.reflect.Proxy;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.regex.Pattern;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Whose VM is whose, with real records and disks, and without guests. */
class PodVmsTest {
  private static final VmKey KEY = new VmKey("default", "db");
  private static final Pattern ID = Pattern.compile("<uuid>([^<]+)</uuid>");

  @TempDir Path work;
  private final Set<UUID> running = new HashSet<>();
  private final FakeApi api = new FakeApi();
  private long size = 4096;
  private StateLayout layout;
  private Owners owners;
  private Node node;
  private final Starts starts = new Starts(_ -> {});
  private PodVms vms;
  private Reaper reaper;

  @BeforeEach
  void open() throws IOException {
    layout = new StateLayout(work.resolve("state"), work.resolve("run"));
    owners = new Owners(layout.owners(), _ -> {});
    node = new Node(layout, machine(), fake(Images.class), starts);
    node.tidy();
    // No VM here has a disk that other nodes reach, so nobody asks for a lease.
    vms = vms(starts, new DiskLeases(null, "platter-system", "node1"));
    reaper = new Reaper(owners, vms, api, "node1", _ -> {});
  }

  private PodVms vms(Starts starts, DiskLeases leases) throws IOException {
    return new PodVms(node, api, new Gathering(work, api), owners, leases, work, starts, _ -> {});
  }

  private Machine machine() {
    var hypervisor =
        (Hypervisor)
            Proxy.newProxyInstance(
                getClass().getClassLoader(),
                new Class<?>[] {Hypervisor.class},
                (_, method, arguments) -> {
                  switch (method.getName()) {
                    case "start" -> {
                      var id = ID.matcher((String) arguments[0]);
                      assertThat(id.find()).isTrue();
                      running.add(UUID.fromString(id.group(1)));
                      return null;
                    }
                    case "state" -> {
                      return running.contains((UUID) arguments[0])
                          ? Hypervisor.DomainState.RUNNING
                          : Hypervisor.DomainState.GONE;
                    }
                    case "shutdown", "destroy" -> {
                      running.remove((UUID) arguments[0]);
                      return null;
                    }
                    case "disks" -> {
                      return Proxy.newProxyInstance(
                          getClass().getClassLoader(),
                          new Class<?>[] {LiveDisks.class},
                          (_, _, _) -> size);
                    }
                    default -> {
                      return null;
                    }
                  }
                });
    return new Machine() {
      @Override
      public String libvirt() {
        return "";
      }

      @Override
      public Hypervisor hypervisor(String libvirt) {
        return hypervisor;
      }

      @Override
      public Accelerator accelerator() {
        return Accelerator.TCG;
      }

      @Override
      public boolean isolated() {
        return true;
      }

      @Override
      public String emulator() {
        return "/usr/bin/qemu-system-x86_64";
      }

      @Override
      public void close() {}
    };
  }

  private static <T> T fake(Class<T> type) {
    return type.cast(
        Proxy.newProxyInstance(
            PodVmsTest.class.getClassLoader(), new Class<?>[] {type}, (_, _, _) -> null));
  }

  private static String description(String disk) {
    return """
    {"kind": "VirtualMachine", "metadata": {"name": "db", "namespace": "default"},
     "spec": {"domain": {"devices": {"disks": [%s]}}}}"""
        .formatted(disk);
  }

  private static String blank(String size, boolean keep) {
    return "{\"name\": \"data\", \"source\": {\"blank\": {}}, \"size\": \"%s\", \"keep\": %s}"
        .formatted(size, keep);
  }

  private Pod pod(String uid, String description, String owner) {
    var pod =
        new PodBuilder()
            .withNewMetadata()
            .withName("db")
            .withNamespace("default")
            .withUid(uid)
            .addToAnnotations(Names.VM, description)
            .withOwnerReferences(
                owner.isEmpty()
                    ? List.of()
                    : List.of(
                        new OwnerReferenceBuilder()
                            .withApiVersion(Names.GROUP + "/" + Names.VERSION)
                            .withKind("VirtualMachine")
                            .withName("db")
                            .withUid(owner)
                            .build()))
            .endMetadata()
            .withNewSpec()
            .withNodeName("node1")
            .endSpec()
            .build();
    api.pods.put("default/db", pod);
    return pod;
  }

  private void object(String uid, boolean deleted) {
    api.vms.put("default/db", new Api.VmObject("default", "db", uid, deleted, "db", null, null));
  }

  private void objectOn(String node) {
    api.vms.put("default/db", new Api.VmObject("default", "db", uid(1), false, "db", null, node));
  }

  private static String uid(int n) {
    return "00000000-0000-0000-0000-00000000000" + n;
  }

  private long disks() throws IOException {
    try (var files = Files.list(layout.pool("default"))) {
      return files.count();
    }
  }

  private void end() throws IOException {
    running.clear();
    assertThat(vms.ended(KEY, OptionalLong.empty())).isPresent();
    api.pods.clear();
  }

  private static PersistentVolumeClaim claim(String record) {
    return new PersistentVolumeClaimBuilder()
        .withNewMetadata()
        .withName("data")
        .withNamespace("default")
        .withAnnotations(record.isEmpty() ? Map.of() : Map.of(Claim.FILL_RECORD, record))
        .endMetadata()
        .withNewSpec()
        .withAccessModes("ReadWriteOnce")
        .withVolumeMode("Block")
        .withVolumeName("pv")
        .withNewResources()
        .addToRequests("storage", new Quantity("1Gi"))
        .endResources()
        .endSpec()
        .build();
  }

  @Test
  void aClaimIsLookedAtAgainWhenItsLeaseIsTaken() throws IOException {
    var half = new FillRecord("a.example/f:1", "sha256:" + "0".repeat(64), "", "1", false).text();
    api.claims.addAll(List.of(claim(""), claim(half)));
    api.volume =
        new PersistentVolumeBuilder()
            .withNewMetadata()
            .withName("pv")
            .endMetadata()
            .withNewSpec()
            .withAccessModes("ReadWriteOnce")
            .withVolumeMode("Block")
            .addToCapacity("storage", new Quantity("1Gi"))
            .withNewClaimRef()
            .withNamespace("default")
            .withName("data")
            .endClaimRef()
            .withNewIscsi()
            .withTargetPortal("192.0.2.1:3260")
            .withIqn("iqn.2017-01.a:b")
            .withLun(0)
            .endIscsi()
            .endSpec()
            .build();
    object(uid(1), false);
    try (var server = new LeaseServer()) {
      var leasing =
          vms(new Starts(_ -> {}), new DiskLeases(server.client(), "platter-system", "node1"));
      var pod =
          pod(uid(2), description("{\"name\": \"data\", \"source\": {\"pvc\": \"data\"}}"), uid(1));
      assertThatThrownBy(() -> leasing.start(pod))
          .isInstanceOf(PlatterException.class)
          .hasMessageContaining("holds a part of the image a.example/f:1");
      assertThat(server.taken()).isPositive();
      assertThat(server.held()).as("it is given back").isZero();
    }
    assertThat(running).isEmpty();
  }

  @Test
  void disksAreToldWhenTheyAreOtherThanWhatWasTold() throws IOException {
    object(uid(1), false);
    vms.start(pod(uid(2), description(blank("1Mi", true)), uid(1)));
    var reports = new DiskReports(vms, owners, api, _ -> {});
    api.away = true;
    reports.tell();
    api.away = false;
    reports.tell();
    reports.tell();
    assertThat(api.told).hasSize(1);
    assertThat(api.told.getFirst().getFirst().name()).isEqualTo("data");
    assertThat(api.told.getFirst().getFirst().size()).isEqualTo(4096);
    size = 8192;
    reports.tell();
    end();
    reports.tell();
    assertThat(api.told).hasSize(2);
  }

  @Test
  void theKeptDisksOfAVmObjectSurviveAPodOfItsName() throws IOException {
    object(uid(1), false);
    vms.start(pod(uid(2), description(blank("1Mi", true)), uid(1)));
    end();
    // Nobody's: it only has the name.
    assertThatThrownBy(() -> vms.start(pod(uid(3), description(blank("1Mi", true)), "")))
        .isInstanceOf(PlatterException.class)
        .hasMessageContaining("disks of the VirtualMachine default/db");
    assertThat(disks()).isEqualTo(1);
    assertThat(api.kept).containsExactly(uid(1));
  }

  @Test
  void aVmThatSomebodyRunsOnTheNodeIsLeftAlone() throws IOException {
    var theirs = Manifests.read("db", description(blank("1Mi", true))).getFirst();
    node.run(theirs);
    assertThatThrownBy(() -> vms.start(pod(uid(3), description(blank("1Mi", true)), "")))
        .isInstanceOf(PlatterException.class)
        .hasMessageContaining("is not the cluster's");
    assertThat(running).contains(theirs.uuid());
    api.pods.clear();
    reaper.sweep();
    assertThat(running).contains(theirs.uuid());
    assertThat(disks()).isEqualTo(1);
  }

  @Test
  void aChangedVmThatKeepsDisksIsRefusedHoweverOftenItIsTried() throws IOException {
    object(uid(1), false);
    vms.start(pod(uid(2), description(blank("1Mi", true)), uid(1)));
    end();
    for (var attempt = 3; attempt < 6; attempt++) {
      var changed = pod(uid(attempt), description(blank("2Mi", true)), uid(1));
      assertThatThrownBy(() -> vms.start(changed))
          .isInstanceOf(PlatterException.class)
          .hasMessageContaining("another description");
      assertThat(running).isEmpty();
    }
    vms.start(pod(uid(6), description(blank("1Mi", true)), uid(1)));
    assertThat(running).hasSize(1);
  }

  @Test
  void aChangedVmThatKeepsNothingIsMadeAnew() throws IOException {
    object(uid(1), false);
    vms.start(pod(uid(2), description(blank("1Mi", false)), uid(1)));
    end();
    vms.start(pod(uid(3), description(blank("2Mi", false)), uid(1)));
    assertThat(running).hasSize(1);
    try (var files = Files.list(layout.pool("default"))) {
      assertThat(files.map(file -> file.toFile().length())).containsExactly(2L << 20);
    }
  }

  @Test
  void whatAPodLeftGoesWhenTheApiServerSaysThatItIsGone() throws IOException {
    vms.start(pod(uid(2), description(blank("1Mi", true)), ""));
    end();
    api.away = true;
    reaper.sweep();
    assertThat(disks()).isEqualTo(1);
    api.away = false;
    reaper.sweep();
    assertThat(disks()).isZero();
    assertThat(owners.all()).isEmpty();
  }

  @Test
  void nobodyIsAskedForAPodThatIsHere() throws IOException {
    var pod = pod(uid(2), description(blank("1Mi", true)), "");
    vms.start(pod);
    api.heard.put("default/db", pod);
    end();
    reaper.sweep();
    assertThat(disks()).isEqualTo(1);
    api.heard.clear();
    reaper.sweep();
    assertThat(disks()).isZero();
  }

  @Test
  void aPodWhoseVmObjectIsGoneOrNeverWasLeavesNothing() throws IOException {
    var pod = pod(uid(2), description(blank("1Mi", true)), uid(1));
    assertThatThrownBy(() -> vms.start(pod))
        .isInstanceOf(PlatterException.class)
        .hasMessageContaining("is gone");
    assertThat(running).isEmpty();
    api.pods.clear();
    reaper.sweep();
    assertThat(layout.pool("default")).doesNotExist();
    assertThat(owners.all()).isEmpty();
  }

  @Test
  void aDeletedVmObjectIsReleasedWhenItsDisksAreGone() throws IOException {
    object(uid(1), false);
    vms.start(pod(uid(2), description(blank("1Mi", true)), uid(1)));
    end();
    reaper.sweep();
    assertThat(disks()).isEqualTo(1);
    object(uid(1), true);
    reaper.sweep();
    assertThat(disks()).isZero();
    assertThat(api.kept).isEmpty();
  }

  /** What a name leads to is told by nobody but the node. */
  @Test
  void aServerThatIsTheNodeItselfIsNotGivenToQemu() throws IOException {
    var nbd =
        "{\"name\": \"data\", \"source\": {\"nbd\": {\"host\": {\"name\": \"%s\", \"port\": 9}}}}";
    var here = Manifests.read("db", description(nbd.formatted("localhost"))).getFirst();
    assertThatThrownBy(() -> node.run(here))
        .isInstanceOf(PlatterException.class)
        .hasMessageContaining("this machine itself");
    assertThat(running).isEmpty();
    node.run(Manifests.read("db", description(nbd.formatted("198.18.0.1"))).getFirst());
    assertThat(running).hasSize(1);
  }

  @Test
  void aStartIsTimedInItsParts() throws IOException {
    var clock = vms.start(pod(uid(2), description(blank("1Mi", false)), ""));
    assertThat(StartClock.Part.values()).allMatch(part -> clock.seconds(part) > 0);
    assertThat(clock.toString())
        .matches("[0-9.]+ ms \\(prepare [0-9.]+, disk [0-9.]+, qemu [0-9.]+\\)");
  }

  @Test
  void whatIsNotOneVirtualMachineOfThePodsNameIsRefused() {
    for (var text :
        List.of(
            "{\"kind\": \"List\", \"items\": [" + description(blank("1Mi", false)) + "]}",
            description(blank("1Mi", false)).replace("VirtualMachine", "VM"))) {
      assertThatThrownBy(() -> vms.start(pod(uid(2), text, "")))
          .isInstanceOf(PlatterException.class)
          .hasMessageContaining("annotation platter.dev/vm");
    }
  }

  /** From node2 to node1, or away from here. */
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
