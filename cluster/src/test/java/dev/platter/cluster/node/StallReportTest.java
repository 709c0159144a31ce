package dev.platter.cluster.node;

import static org.assertj.core.api.Assertions.assertThat;

import dev.platter.cluster.api.Names;
import dev.platter.cluster.api.Reason;
import dev.platter.cluster.metrics.Metrics;
import dev.platter.model.Bus;
import dev.platter.model.DiskFormat;
import dev.platter.node.Stall;
import dev.platter.node.VmStatus;
import dev.platter.plan.Plan;
import dev.platter.plan.PlannedDisk;
import io.fabric8.kubernetes.api.model.Pod;
import io.fabric8.kubernetes.api.model.PodBuilder;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

class StallReportTest {
  private static final String FULL =
      "does not run: DiskFull: The VM stands still: the disk data has no room: the pool fast"
          + " (/ssd) is full. It goes on by itself when there is room.";

  private static final Stall.Failed FULL_DISK = new Stall.Failed("sda", true);

  private final FakeApi api = new FakeApi();

  private static Pod pod(Reason said) {
    return new PodBuilder()
        .withNewMetadata()
        .withNamespace("shop")
        .withName("web")
        .withUid("1")
        .endMetadata()
        .withNewStatus()
        .addNewCondition()
        .withType(Names.RUNNING_GATE)
        .withReason(said.word())
        .endCondition()
        .endStatus()
        .build();
  }

  private static final Plan PLAN =
      new Plan(
          Plan.VERSION,
          "shop",
          "web",
          new UUID(1, 1),
          "",
          Map.of(),
          Map.of("fast", "/ssd"),
          List.of(
              new PlannedDisk(
                  "data",
                  "sda",
                  Bus.SCSI,
                  0,
                  false,
                  false,
                  false,
                  false,
                  false,
                  "",
                  List.of(
                      new PlannedDisk.Link("/ssd/x-data.raw", null, null, DiskFormat.RAW, null)))),
          List.of());

  private final StallReport report =
      new StallReport(new VmReports(api, pod(Reason.RUNNING), new Metrics(), _ -> {}));

  private void look(Reason told, VmStatus.Phase phase, Stall.Failed... failed) {
    var stall =
        phase == VmStatus.Phase.PAUSED
            ? Optional.of(new Stall(List.of(failed)))
            : Optional.<Stall>empty();
    report.look(pod(told), new VmStatus(PLAN, phase, Path.of("log"), Path.of("socket")), stall);
  }

  private String said() throws InterruptedException {
    return api.said.poll(1, TimeUnit.MINUTES);
  }

  @Test
  void aFullDiskIsToldOnceAndThatItsVmGoesOn() throws Exception {
    look(Reason.RUNNING, VmStatus.Phase.RUNNING);
    look(Reason.RUNNING, VmStatus.Phase.PAUSED, FULL_DISK);
    assertThat(said()).isEqualTo(FULL);
    look(Reason.DISK_FULL, VmStatus.Phase.PAUSED, FULL_DISK);
    look(Reason.DISK_FULL, VmStatus.Phase.PAUSED);
    look(Reason.DISK_FULL, VmStatus.Phase.RUNNING);
    assertThat(said()).startsWith("runs: Running");
    assertThat(api.said).isEmpty();
  }

  @Test
  void whatThePodDoesNotSayIsToldAgain() throws Exception {
    look(Reason.RUNNING, VmStatus.Phase.PAUSED, FULL_DISK);
    assertThat(said()).isEqualTo(FULL);
    look(Reason.RUNNING, VmStatus.Phase.PAUSED, FULL_DISK);
    assertThat(said()).isEqualTo(FULL);
  }

  @Test
  void aDiskThatIsAwayIsNotToldOf() throws Exception {
    look(Reason.RUNNING, VmStatus.Phase.PAUSED, new Stall.Failed("sda", false));
    look(Reason.RUNNING, VmStatus.Phase.PAUSED, FULL_DISK);
    assertThat(said()).as("the first that is told").isEqualTo(FULL);
  }
}
