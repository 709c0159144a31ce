package dev.platter.plan;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.platter.dialect.Manifests;
import dev.platter.model.Inside;
import dev.platter.model.Vm;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Changes of plans and stored domains, which must be exactly undone by their opposites. */
class DiskChangesTest {
  private static final String DISKS =
      """
      - {name: root, source: {image: "a/b:c"}, size: 1Gi, keep: true}
      - {name: twin, source: {image: "a/b:c"}, copy: {mode: clone}}
      - {name: data, source: {file: /srv/data.raw}, copy: {mode: copy-on-read}}
      - {name: iscsi, source: {iscsi: {host: {name: a.example, port: 3260}, portal: "iqn.2026-01.dev:a", lun: 1}}}
      - {name: blank, source: {blank: {}}, size: 1Mi}
      """;
  private static final String MORE =
      "{name: more, source: {file: /srv/more.qcow2}, copy: {mode: copy-on-write}, keep: true}";

  private static Vm vm(String text) {
    return Manifests.read("vm.yaml", text).getFirst();
  }

  private static final Planned PLANNED = Planner.plan(vm(DISKS), GoldenTest.facts(vm(DISKS)));

  private static DiskChanges changes(Plan plan, String domain) {
    return new DiskChanges(GoldenTest.facts(vm(DISKS)).layout(), plan, domain);
  }

  private static DiskChanges changes() {
    return changes(PLANNED.plan(), PLANNED.domainXml());
  }

  private static DiskChanges after(DiskChange change) {
    return changes(change.next(), change.domainXml());
  }

  private static Planned alone(String disk) {
    var devices = PLANNED.plan().disks().stream().map(PlannedDisk::device).toList();
    var read = Manifests.readDisk("disk.yaml", disk, devices, "default");
    var vm = vm(DISKS);
    var single =
        new Vm(
            vm.namespace(),
            vm.name(),
            vm.uuid(),
            1,
            vm.memory(),
            List.of(read),
            null,
            List.of(),
            Inside.NOTHING,
            null);
    return Planner.plan(single, GoldenTest.facts(single));
  }

  private static void assertAsBefore(DiskChange change) {
    assertThat(change.next()).isEqualTo(PLANNED.plan());
    assertThat(change.domainXml()).isEqualTo(PLANNED.domainXml());
  }

  @Test
  void aDiskThatIsAttachedAndDetachedLeavesNoTrace() {
    var attached = changes().attach(alone(MORE));
    assertThat(attached.next().disks()).extracting(PlannedDisk::name).endsWith("more");
    assertThat(attached.next().disks().getLast().boot()).isFalse();
    assertThat(attached.next().steps().getLast()).isInstanceOf(Step.StartDomain.class);
    assertThat(attached.made()).hasSize(3);
    var detached = after(attached).detach("more");
    assertThat(detached.dropped()).containsExactlyElementsOf(attached.made());
    assertAsBefore(detached);
  }

  @Test
  void theDomainOfAnAttachedDiskIsWhatPlanningItFromTheStartGives() {
    var all = DISKS + "- " + MORE + "\n";
    var planned = Planner.plan(vm(all), GoldenTest.facts(vm(all)));
    var attached = changes().attach(alone(MORE));
    assertThat(attached.domainXml()).isEqualTo(planned.domainXml());
    assertThat(attached.next().disks()).isEqualTo(planned.plan().disks());
  }

  @Test
  void aSnapshotThatIsRemovedLeavesTheDiskInItsSize() {
    var size = 1L << 30;
    var made = changes().snapshot("root", "s", size);
    assertThat(made.next().disks().getFirst().chain()).hasSize(3);
    assertAsBefore(after(made).removeSnapshot("root", "s"));
    var grown = after(made).grow("root", 2 * size);
    var removed = after(grown).removeSnapshot("root", "s");
    assertThat(removed.next()).isEqualTo(changes().grow("root", 2 * size).next());
  }

  @Test
  void anImageThatAnotherDiskNeedsStays() {
    var change = changes().detach("twin");
    assertThat(change.next().images()).isEqualTo(PLANNED.plan().images());
    assertThat(change.dropped()).hasOnlyElementsOfType(Step.CloneDisk.class);
  }

  @Test
  void aDiskTakesItsSnapshotsAndLeasesWithIt() {
    var made = changes().snapshot("data", "s", 512);
    var dropped = after(made).detach("data").dropped();
    assertThat(dropped)
        .extracting(step -> step.getClass().getSimpleName())
        .containsExactlyInAnyOrder("TakeLease", "CheckFile", "CreateOverlay", "CreateSnapshot");
    assertThat(changes().detach("iscsi").dropped())
        .hasOnlyElementsOfType(Step.TakeLease.class)
        .hasSize(1);
  }

  @Test
  void aNetworkDiskInPlaceIsGrownByItsServer() {
    assertThatThrownBy(() -> changes().grow("iscsi", 1 << 30))
        .hasMessageContaining("its size is that of iscsi://a.example:3260");
  }

  @Test
  void aSourceIsNotGivenToAVmTwice() {
    assertThatThrownBy(
            () ->
                changes()
                    .attach(
                        alone("{name: again, source: {file: /srv/data.raw}, copy: {mode: clone}}")))
        .hasMessageContaining("uses file:/srv/data.raw already");
  }

  @Test
  void aChangeReadBackFromItsJsonIsTheSameChange() {
    for (var change :
        List.of(
            changes().grow("blank", 4096),
            changes().snapshot("root", "s", 512),
            after(changes().snapshot("root", "s", 512)).removeSnapshot("root", "s"),
            changes().attach(alone(MORE)),
            changes().detach("data").decide())) {
      assertThat(PlanJson.readChange(PlanJson.write(change))).isEqualTo(change);
    }
  }
}
