package dev.platter.node;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.platter.model.PlatterException;
import dev.platter.model.PlatterException.Code;
import dev.platter.model.SecretData;
import dev.platter.node.libvirt.PrivateLibvirtExtension;
import dev.platter.node.move.Credentials;
import dev.platter.node.move.MoveServer;
import dev.platter.node.move.MoveSource;
import dev.platter.plan.Plan;
import dev.platter.plan.PlanJson;
import dev.platter.plan.Relocation;
import dev.platter.plan.StateLayout;
import dev.platter.plan.VmKey;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.file.Path;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** A VM goes to a node that is reached over TLS, while a record of both says where it is. */
class RemoteMigrationTest {
  @RegisterExtension static final PrivateLibvirtExtension A = new PrivateLibvirtExtension();
  @RegisterExtension static final PrivateLibvirtExtension B = new PrivateLibvirtExtension();
  private static final Credentials HERE = Credentials.make("a");
  private static final Credentials THERE = Credentials.make("b");

  @TempDir static Path work;
  private static TwoNodes nodes;

  private final Ledger ledger = new Ledger();

  /** The record, in memory; it can be away. */
  private static final class Ledger {
    private String node = "a";
    private String handed = "";
    private boolean away;

    private void ask() {
      if (away) {
        throw PlatterException.of(Code.UNAVAILABLE, "the record cannot be read", "");
      }
    }

    Whereabouts of(String own) {
      return new Whereabouts() {
        @Override
        public void hand(VmKey key, UUID move, String to) {
          ask();
          handed = to + move;
        }

        @Override
        public void decide(VmKey key, UUID move) {
          ask();
          if (!handed.equals(own + move)) {
            throw PlatterException.of(Code.CONFLICT, "it was taken back", "");
          }
          handed = "";
          node = own;
        }

        @Override
        public boolean hasLeft(VmKey key, UUID move) {
          ask();
          handed = "";
          return !node.equals(own);
        }

        @Override
        public boolean hasCome(VmKey key, UUID move) {
          ask();
          handed = "";
          return node.equals(own);
        }
      };
    }
  }

  /** Disks that the VM has in one test. */
  private static String more = "";

  @BeforeAll
  static void makeImage() throws IOException {
    nodes = new TwoNodes(work, A, B);
    nodes.makeImage();
  }

  @BeforeEach
  void start() throws IOException {
    more = "";
    try (var node = node(0, Progress.NONE)) {
      nodes.run(node);
    }
    nodes.qemu(0).write(34, "4M");
  }

  @AfterEach
  void end() throws IOException {
    for (var each : new int[] {0, 1}) {
      try (var node = node(each, Progress.NONE)) {
        for (var vm : node.list()) {
          node.remove(vm.key(), true);
        }
        node.tidy();
      }
      nodes.assertNothingIsOn(each);
    }
  }

  private Node node(int which, Progress progress) {
    var config = TwoNodes.config(work, which, nodes.uri(which));
    return LocalNode.open(
        config,
        Placement.NONE,
        new LocalDeviceRecords(config.layout()),
        ledger.of(which == 0 ? "a" : "b"),
        progress);
  }

  private static MoveServer serve(Node node) throws IOException {
    GuestArrivals.Host host =
        (from, _, _) -> {
          assertThat(from).isEqualTo("a");
          return new GuestArrivals.Guest() {
            @Override
            public GuestArrivals.Known prepare(Plan sent) throws IOException {
              return new GuestArrivals.Known(nodes.planArriving(node, sent, more), SecretData.NONE);
            }

            @Override
            public void confirm() {}

            @Override
            public void close() {}
          };
        };
    return MoveServer.start(
        new InetSocketAddress(InetAddress.getLoopbackAddress(), 0),
        THERE,
        fingerprint -> Optional.of("a").filter(_ -> fingerprint.equals(HERE.fingerprint())),
        (_, _, _, _) -> {
          throw new IOException("no disks here");
        },
        node.arrivals(host, _ -> {}),
        _ -> {});
  }

  private static Journey to(MoveServer server, Credentials own) {
    return to(server, own, Journey.PER_GIB);
  }

  private static Journey to(MoveServer server, Credentials own, Duration perGib) {
    var address = new InetSocketAddress(InetAddress.getLoopbackAddress(), server.port());
    var peer = new MoveSource(address, THERE.fingerprint());
    return new Journey(UUID.randomUUID(), "b", peer, own, perGib);
  }

  private static void assertIsOn(int node) throws IOException {
    assertThat(nodes.runsOn()).isEqualTo(node);
    nodes.qemu(node).check(34, "4M");
    nodes.qemu(node).check(17, "1M");
    nodes.assertNothingIsOn(TwoNodes.other(node));
  }

  @Test
  void allOfItIsThereAndNothingIsLeftHere() throws IOException {
    try (var a = node(0, Progress.NONE);
        var b = node(1, Progress.NONE);
        var server = serve(b)) {
      var migrated = a.migrate(TwoNodes.KEY, to(server, HERE));
      assertThat(migrated.disks()).isPositive();
      assertThat(migrated.memory()).isPositive();
      assertThat(ledger.node).isEqualTo("b");
      assertIsOn(1);
      assertThat(b.unsettled()).isEmpty();
    }
  }

  @Test
  void whatTakesLongerThanItsSizeAllowsIsGivenUpAndStays() throws IOException {
    try (var a = node(0, Progress.NONE);
        var b = node(1, Progress.NONE);
        var server = serve(b)) {
      a.remove(TwoNodes.KEY, true);
      more = "- {name: large, source: {blank: {}}, size: 256Mi}";
      nodes.run(a, more);
      nodes.qemu(0).fill(3, 34, "256M"); // little would be there at the first look
      assertThatThrownBy(() -> a.migrate(TwoNodes.KEY, to(server, HERE, Duration.ZERO)))
          .isInstanceOfSatisfying(
              PlatterException.class, e -> assertThat(e.code()).isEqualTo(Code.TIMED_OUT))
          .hasMessageContaining("the limit for its size");
      await(b);
      assertThat(nodes.runsOn()).isZero();
      nodes.assertNothingIsOn(1);
    }
  }

  @Test
  void nobodyIsTalkedToWhoIsNotKnown() throws IOException {
    try (var a = node(0, Progress.NONE);
        var b = node(1, Progress.NONE);
        var server = serve(b)) {
      var stranger = to(server, Credentials.make("a"));
      assertThatThrownBy(() -> a.migrate(TwoNodes.KEY, stranger)).isInstanceOf(IOException.class);
      assertIsOn(0);
    }
  }

  /** A sender that was broken into. */
  private record Hostile(Destination to, UnaryOperator<MovingVm> changed) implements Destination {
    @Override
    public Relocation relocate(Plan plan, String domainXml, StateLayout from) throws IOException {
      return to.relocate(plan, domainXml, from);
    }

    @Override
    public Duration perGib() {
      return to.perGib();
    }

    @Override
    public Departure departure() {
      return to.departure();
    }

    @Override
    public Arriving receive(MovingVm vm, Departure departure, StateLayout from, SecretData secrets)
        throws IOException {
      return to.receive(changed.apply(vm), departure, from, secrets);
    }
  }

  private static MovingVm running(MovingVm vm, String old, String other) {
    assertThat(vm.running()).contains(old);
    return new MovingVm(
        vm.plan(),
        vm.domainXml(),
        vm.running().replace(old, other),
        vm.seed(),
        vm.sizes(),
        vm.disks());
  }

  private static MovingVm planned(MovingVm vm, String old, String other) {
    var text = PlanJson.write(vm.plan());
    assertThat(text).contains(old);
    return new MovingVm(
        PlanJson.read(text.replace(old, other)),
        vm.domainXml(),
        vm.running(),
        vm.seed(),
        vm.sizes(),
        vm.disks());
  }

  /** What a node could have this one open, run or reach that belongs to nobody's VM. */
  private static Map<String, UnaryOperator<MovingVm>> lies() {
    var all = new LinkedHashMap<String, UnaryOperator<MovingVm>>();
    all.put("names /etc/shadow", vm -> running(vm, "blank.raw\"", "blank.raw\" x=\"/etc/shadow\""));
    all.put("names /root/k", vm -> running(vm, "</os>", "<kernel>/root/k</kernel></os>"));
    all.put("the hostdev too", vm -> added(vm, "<hostdev mode='subsystem' type='pci'/>"));
    all.put("the interface too", vm -> added(vm, "<interface type='bridge'/>"));
    all.put(
        "the disk sdz too",
        vm -> added(vm, "<disk type='network' device='disk'><target dev='sdz'/></disk>"));
    all.put(
        "has the disk sda on [other] and not on []",
        vm -> running(vm, "root.qcow2\"", "root.qcow2\" name=\"other\""));
    all.put(
        "options for QEMU: -chardev",
        vm ->
            running(vm, "</qemu:commandline>", "<qemu:arg value='-chardev'/></qemu:commandline>"));
    all.put("the machine pc-i440fx", vm -> running(vm, "pc-q35", "pc-i440fx"));
    all.put("cannot be read", vm -> running(vm, "</domain>", ""));
    all.put("the disk blank is", vm -> planned(vm, "-blank.raw", "-../../../etc/shadow"));
    all.put("cannot be so large", RemoteMigrationTest::unsized);
    all.put("is no digest", vm -> planned(vm, "sha256:", "../../../"));
    all.put("the shmem too", vm -> added(vm, "<shmem/>".repeat(150_000)));
    return all;
  }

  private static MovingVm added(MovingVm vm, String device) {
    return running(vm, "</devices>", device + "</devices>");
  }

  private static MovingVm unsized(MovingVm vm) {
    return new MovingVm(vm.plan(), vm.domainXml(), vm.running(), vm.seed(), Map.of(), vm.disks());
  }

  @Test
  void aSenderIsNotBelievedWhatTheVmIs() throws IOException {
    try (var a = node(0, Progress.NONE);
        var b = node(1, Progress.NONE);
        var server = serve(b)) {
      for (var lie : lies().entrySet()) {
        try (var to = RemoteDestination.open(to(server, HERE), TwoNodes.KEY)) {
          assertThatThrownBy(() -> a.migrate(TwoNodes.KEY, new Hostile(to, lie.getValue())))
              .isInstanceOfSatisfying(
                  PlatterException.class, e -> assertThat(e.code()).isEqualTo(Code.REFUSED))
              .hasMessageContaining(lie.getKey());
        }
        await(b);
        assertIsOn(0);
      }
    }
  }

  /** Something is done when the move is so far. */
  private record At(MigrationStage when, Runnable what) implements Progress {
    @Override
    public void reached(MigrationStage stage) {
      if (stage == when) {
        what.run();
      }
    }
  }

  /** What the other node's daemon does of itself when nobody talks to it any more. */
  @ParameterizedTest
  @CsvSource({
    "PREPARED, 0",
    "MIRRORED, 0",
    "PAUSED, 0",
    "SENT, 0",
    "HANDED, 0",
    "DECIDED, 1",
    "RUNNING, 1"
  })
  void whenTheConnectionsBreakItIsWhereTheRecordSays(MigrationStage stage, int where)
      throws IOException {
    var open = new AtomicReference<MoveServer>();
    try (var a = node(0, new At(stage, () -> close(open.get())));
        var b = node(1, Progress.NONE);
        var server = serve(b)) {
      open.set(server);
      assertThatThrownBy(() -> a.migrate(TwoNodes.KEY, to(server, HERE)))
          .isInstanceOfAny(IOException.class, PlatterException.class);
      await(b);
      assertThat(ledger.node).isEqualTo(where == 0 ? "a" : "b");
      assertIsOn(where);
    }
  }

  private static void close(MoveServer server) {
    try {
      server.close();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Until that node's daemon has noticed. */
  private static void await(Node node) throws IOException {
    var until = System.nanoTime() + 60_000_000_000L;
    while (!node.unsettled().isEmpty()) {
      assertThat(System.nanoTime()).isLessThan(until);
      Thread.onSpinWait();
    }
  }

  @Test
  void aRecordThatCannotBeReadKeepsItFromLeaving() throws IOException {
    try (var a = node(0, new At(MigrationStage.SENT, () -> ledger.away = true));
        var b = node(1, Progress.NONE);
        var server = serve(b)) {
      assertThatThrownBy(() -> a.migrate(TwoNodes.KEY, to(server, HERE)))
          .hasMessageContaining("cannot be read");
      assertThat(nodes.runsOn()).isEqualTo(0); // It was not handed over: nobody has to be asked.
      ledger.away = false;
      b.tidy();
      assertIsOn(0);
    }
  }

  @Test
  void whoWasHandedItAndCannotAskStandsStillUntilItCan() throws IOException {
    try (var a = node(0, new At(MigrationStage.HANDED, () -> ledger.away = true));
        var b = node(1, Progress.NONE);
        var server = serve(b)) {
      assertThatThrownBy(() -> a.migrate(TwoNodes.KEY, to(server, HERE)))
          .hasMessageContaining("cannot be read");
      a.tidy();
      b.tidy();
      assertThat(nodes.virsh(0, "list", "--state-running", "--uuid")).isBlank();
      assertThat(nodes.virsh(1, "list", "--state-running", "--uuid")).isBlank();
      ledger.away = false;
      b.tidy();
      a.tidy();
      assertIsOn(0);
    }
  }
}
