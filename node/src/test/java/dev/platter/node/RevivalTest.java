package dev.platter.node;

import static org.assertj.core.api.Assertions.assertThat;

import dev.platter.model.Bus;
import dev.platter.model.DiskFormat;
import dev.platter.node.durable.Durable;
import dev.platter.node.durable.FileMutex;
import dev.platter.plan.Plan;
import dev.platter.plan.Planned;
import dev.platter.plan.PlannedDisk;
import dev.platter.plan.StateLayout;
import dev.platter.plan.Step;
import dev.platter.plan.VmKey;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** When it is worth a try to let a guest go on. */
class RevivalTest {
  private static final VmKey KEY = new VmKey("default", "full");

  @TempDir Path work;
  private final IdleMachine machine = new IdleMachine();
  private final List<String> told = new ArrayList<>();
  private StateLayout layout;
  private Revival revival;

  @BeforeEach
  void makeVm() throws IOException {
    layout = new StateLayout(work.resolve("state"), work.resolve("run"));
    Durable.makeDirectories(layout.run());
    var uuid = new UUID(4, 2);
    var file = new PlannedDisk.Link(work + "/d.raw", null, null, DiskFormat.RAW, null);
    var device = new PlannedDisk.Link(null, "/dev/thin", null, DiskFormat.RAW, null);
    var plan =
        new Plan(
            Plan.VERSION,
            KEY.namespace(),
            KEY.name(),
            uuid,
            "",
            Map.of(),
            Map.of("fast", work.toString()),
            List.of(disk("data", "sda", file), disk("thin", "sdb", device)),
            List.of(new Step.StartDomain(uuid, KEY.name())));
    var record = VmRecord.create(layout, new Planned(plan, "<domain/>", null, List.of()));
    Files.writeString(layout.journal(record.directory()), "begin UP\ndone 0\nend UP\n");
    revival = new Revival(layout, machine, told::add);
  }

  private static PlannedDisk disk(String name, String target, PlannedDisk.Link link) {
    return new PlannedDisk(
        name, target, Bus.SCSI, 0, false, false, false, true, false, "", List.of(link));
  }

  private long tries() {
    return machine.asked.stream().filter("resumeAfterError"::equals).count();
  }

  private void stall(Stall.Failed... failed) {
    machine.stall = Optional.of(new Stall(List.of(failed)));
  }

  @Test
  void aGuestThatRunsIsLeftAlone() {
    assertThat(revival.lookOnce()).as("a device may be full at any moment").isTrue();
    assertThat(machine.asked).containsExactly("isStalled");
    assertThat(told).isEmpty();
  }

  @Test
  void whatNobodyCanBeAskedAboutIsTriedAtOnceAndThenRarely() {
    stall(new Stall.Failed("sdb", true));
    revival.lookOnce();
    assertThat(tries()).isEqualTo(1);
    revival.lookOnce();
    revival.lookOnce();
    assertThat(tries()).isEqualTo(1);
    assertThat(told).hasSize(1).first().asString().contains("/dev/thin").contains("no room");
  }

  @Test
  void aGuestThatRanMeanwhileIsTriedAtOnceAgain() {
    stall(new Stall.Failed("sdb", true));
    revival.lookOnce();
    machine.stall = Optional.empty();
    revival.lookOnce();
    stall(new Stall.Failed("sdb", true));
    revival.lookOnce();
    assertThat(tries()).isEqualTo(2);
  }

  @Test
  void whatMayBeAServerIsTriedEachTime() {
    stall();
    revival.lookOnce();
    revival.lookOnce();
    assertThat(tries()).isEqualTo(2);
  }

  @Test
  void aGuestWhosePoolHasRoomGoesOn() {
    stall(new Stall.Failed("sda", true));
    revival.lookOnce();
    assertThat(tries()).isEqualTo(1);
    assertThat(told).hasSize(1).first().asString().contains("the pool fast");
  }

  @Test
  void aVmThatSomebodyWorksOnIsPassedOver() throws IOException {
    stall();
    try (var _ = FileMutex.tryTake(layout.vmLock(KEY)).orElseThrow()) {
      assertThat(revival.lookOnce()).isTrue();
    }
    assertThat(tries()).isZero();
  }
}
