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

  private StallReport report(Reason said) {
    var pod = pod(said);
    return new StallReport(new VmReports(api, pod, new Metrics(), _ -> {}), pod);
  }

  private static VmStatus vm(VmStatus.Phase phase, Stall.Failed... failed) {
    var link = new PlannedDisk.Link("/ssd/x-data.raw", null, null, DiskFormat.RAW, null);
    var disk =
        new PlannedDisk(
            "data", "sda", Bus.SCSI, 0, false, false, false, false, false, "", List.of(link));
    var plan =
        new Plan(
            Plan.VERSION,
            "shop",
            "web",
            new UUID(1, 1),
            "",
            Map.of(),
            Map.of("fast", "/ssd"),
            List.of(disk),
            List.of());
    var stall =
        failed.length == 0 ? Optional.<Stall>empty() : Optional.of(new Stall(List.of(failed)));
    return new VmStatus(plan, phase, stall, Path.of("log"), Path.of("socket"));
  }

  private static VmStatus full() {
    return vm(VmStatus.Phase.PAUSED, new Stall.Failed("sda", true));
  }

  private String said() throws InterruptedException {
    return api.said.poll(1, TimeUnit.MINUTES);
  }

  @Test
  void aFullDiskIsToldOnceAndThatItsVmGoesOn() throws Exception {
    var report = report(Reason.RUNNING);
    report.look(vm(VmStatus.Phase.RUNNING));
    report.look(full());
    assertThat(said()).isEqualTo(FULL);
    report.look(full());
    report.look(vm(VmStatus.Phase.PAUSED));
    report.look(vm(VmStatus.Phase.RUNNING));
    assertThat(said()).startsWith("runs: Running");
    assertThat(api.said).isEmpty();
  }

  @Test
  void theNextDaemonTellsThatTheVmGoesOn() throws Exception {
    var report = report(Reason.DISK_FULL);
    report.look(full());
    report.look(vm(VmStatus.Phase.RUNNING));
    assertThat(said()).startsWith("runs: Running");
    assertThat(api.said).isEmpty();
  }

  @Test
  void aDiskThatIsAwayIsNotToldOf() throws Exception {
    var report = report(Reason.RUNNING);
    report.look(vm(VmStatus.Phase.PAUSED, new Stall.Failed("sda", false)));
    report.look(full());
    assertThat(said()).as("the first that is told").isEqualTo(FULL);
  }
}
