package dev.platter.node;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.platter.model.Bus;
import dev.platter.model.DiskFormat;
import dev.platter.model.Endpoint;
import dev.platter.model.PlatterException;
import dev.platter.node.durable.Durable;
import dev.platter.plan.NetworkDisk;
import dev.platter.plan.Plan;
import dev.platter.plan.Planned;
import dev.platter.plan.PlannedDisk;
import dev.platter.plan.StateLayout;
import dev.platter.plan.Step;
import dev.platter.plan.VmKey;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What came is remembered for as long as the node that it came from may ask. */
class MigrationRecordsTest {
  private static final VmKey KEY = new VmKey("default", "mover");

  @TempDir Path work;
  private StateLayout from;
  private StateLayout to;
  private Departure departure;
  private final IdleMachine machine = new IdleMachine();

  @BeforeEach
  void aVmHasMoved() throws IOException {
    from = GuestNode.layout(work.resolve("a"));
    to = GuestNode.layout(work.resolve("b"));
    departure =
        new Departure(
            UUID.randomUUID(), null, to.state().toString(), to.run().toString(), "", true);
    Durable.makeDirectories(from.vm(KEY));
    new MigrationRecords(from).publish(KEY, departure);
    there().publish(KEY, new Arrival(departure.id(), from.state().toString(), true, false));
  }

  private MigrationRecords there() {
    return new MigrationRecords(to);
  }

  private void assertKept() throws IOException {
    there().forgetIfSettled(KEY);
    assertThat(there().decided(KEY, departure)).isTrue();
    assertThatThrownBy(() -> there().refuseUnseen(KEY))
        .isInstanceOf(PlatterException.class)
        .hasMessageContaining("does not know it yet");
  }

  @Test
  void whileTheOtherNodeHasARecordOfTheMoveItIsKept() throws IOException {
    assertKept();
  }

  @Test
  void whileTheOtherNodeIsNotThereItIsKept() throws IOException {
    Durable.deleteTree(from.state());
    assertKept();
  }

  @Test
  void whileTheOtherNodeIsNotMountedItIsKept() throws IOException {
    Durable.deleteTree(from.vms());
    assertKept();
  }

  @Test
  void whenTheOtherNodeHasSeenItItIsForgotten() throws IOException {
    Durable.deleteTree(from.vm(KEY));
    there().refuseUnseen(KEY);
    assertThat(there().arrivals()).isEmpty();
  }

  @Test
  void aLaterMoveOfTheOtherNodeIsNotThisOne() throws IOException {
    var later = new Departure(UUID.randomUUID(), null, "/elsewhere", "/elsewhere/run", "", false);
    new MigrationRecords(from).publish(KEY, later);
    assertThat(there().decided(KEY, later)).isFalse();
    there().forgetArrival(KEY, later);
    assertThat(there().arrivals()).containsExactly(KEY);
    there().forgetIfSettled(KEY);
    assertThat(there().arrivals()).isEmpty();
  }

  /** With a disk on a server, and nothing to undo but its QEMU. */
  private static VmRecord vm(StateLayout layout, String... journal) throws IOException {
    var uuid = UUID.nameUUIDFromBytes("mover".getBytes(US_ASCII));
    var endpoint = List.of(new Endpoint("127.0.0.1", 1));
    var network = new NetworkDisk("nbd", "", endpoint, null, false, null, null);
    var link = new PlannedDisk.Link(null, null, network, DiskFormat.RAW, null);
    var disk =
        new PlannedDisk(
            "d", "vda", Bus.VIRTIO, 0, false, false, false, true, false, "", List.of(link));
    var plan =
        new Plan(
            Plan.VERSION,
            KEY.namespace(),
            KEY.name(),
            uuid,
            "",
            Map.of(),
            Map.of(),
            List.of(disk),
            List.of(new Step.StartDomain(uuid, KEY.name())));
    var record = VmRecord.create(layout, new Planned(plan, "<domain/>", null, List.of()));
    Files.writeString(layout.journal(record.directory()), String.join("\n", journal) + "\n");
    return record;
  }

  /** It is the other node's, and nobody has let its guest run there. */
  private VmRecord arrived() throws IOException {
    var record = vm(to, "begin UP");
    Files.writeString(to.arriving(record.directory()), departure.id().toString());
    return record;
  }

  private Node node(StateLayout layout, Progress progress) {
    var config = new NodeConfig(layout, Optional.empty(), Optional.empty());
    return LocalNode.open(config, machine, progress);
  }

  @Test
  void untilItsVmHasComeUpItIsKept() throws IOException {
    var record = arrived();
    Durable.deleteTree(from.vm(KEY));
    there().forgetArrival(KEY, departure);
    there().forgetIfSettled(KEY);
    assertThat(there().decided(KEY, departure)).isTrue();

    Files.writeString(to.journal(record.directory()), "begin UP\ndone 0\nend UP\n");
    there().forgetArrival(KEY, departure);
    assertThat(there().arrivals()).isEmpty();
  }

  @Test
  void aVmThatCameAndIsStoppedBeforeItRanIsStillThere() throws IOException {
    arrived();
    try (var node = node(to, Progress.NONE)) {
      node.stop(KEY, Duration.ZERO);
      assertThat(node.status(KEY).phase()).isEqualTo(VmStatus.Phase.STOPPED);
    }
    assertThat(machine.asked).containsSubsequence("resume", "destroy");
  }

  @Test
  void aGuestThatIsLeavingIsNotRevived() throws IOException {
    vm(from, "begin UP", "done 0", "end UP");
    var revival = new Revival(from, machine, _ -> {});
    assertThat(revival.lookOnce()).isTrue();
    assertThat(machine.asked).isEmpty();
    new MigrationRecords(from).forgetDeparture(KEY);
    assertThat(revival.lookOnce()).isTrue();
    assertThat(machine.asked).containsExactly("isStalled");
  }

  @Test
  void aVmThatIsRemovedByForceIsOneThatLeavesUntilItIsGone() throws IOException {
    var record = vm(from, "begin UP", "done 0", "end UP");
    var leaving = new ArrayList<Boolean>();
    var progress =
        new Progress() {
          @Override
          public void beforeUndo(Step step) {
            leaving.add(Files.exists(from.departure(record.directory())));
          }
        };
    try (var node = node(from, progress)) {
      node.remove(KEY, true);
    }
    assertThat(leaving).containsExactly(true);
    assertThat(from.vm(KEY)).doesNotExist();
  }

  private static Progress warnings(List<String> told) {
    return new Progress() {
      @Override
      public void warning(String text) {
        told.add(text);
      }
    };
  }

  @Test
  void whileTheOtherNodeIsNotMountedAVmThatWasHandedOverDoesNotGoOn() throws IOException {
    vm(from, "begin UP", "done 0", "end UP");
    Durable.deleteTree(to.arrivals());
    var told = new ArrayList<String>();
    try (var node = node(from, warnings(told))) {
      node.tidy();
    }
    assertThat(told).singleElement().asString().contains("may run there");
    assertThat(new MigrationRecords(from).departure(KEY)).contains(departure);
  }

  @Test
  void aRecordThatCannotBeReadStandsInNobodysWay() throws IOException {
    vm(from, "begin UP", "done 0", "end UP");
    var file = from.departure(from.vm(KEY));
    Durable.delete(file);
    Files.createDirectory(file);
    var told = new ArrayList<String>();
    try (var a = node(from, warnings(told));
        var b = node(to, warnings(told))) {
      a.tidy();
      b.tidy();
      assertThat(told)
          .hasSize(2)
          .allSatisfy(text -> assertThat(text).contains("default/mover cannot be settled"));
      Files.writeString(to.arrival(KEY), "null");
      b.tidy();
      assertThat(told)
          .last()
          .asString()
          .contains(to.arrival(KEY) + " cannot be read: it says null");
      a.remove(KEY, true);
      assertThat(from.vm(KEY)).doesNotExist();
    }
  }
}
