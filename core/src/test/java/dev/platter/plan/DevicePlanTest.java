package dev.platter.plan;

import static org.assertj.core.api.Assertions.assertThat;

import dev.platter.dialect.Manifests;
import dev.platter.model.DeviceSource;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class DevicePlanTest {
  private static final String ROOT = "{name: root, source: {blank: {}}, size: 1Mi}";

  private static Planned plan(String copy, boolean listed) {
    var text =
        "kind: VM\nspec: {domain: {devices: {disks: [%s, {name: d, source: {pvc: x}, copy: {mode: %s}}]}}}\n"
            .formatted(ROOT, copy);
    var vm = Manifests.read("t.yaml", text).getFirst();
    var disk = vm.disks().getLast().withSource(new DeviceSource("/dev/loop0", listed));
    var given = vm.withDisks(List.of(vm.disks().getFirst(), disk));
    return Planner.plan(given, GoldenTest.facts(given));
  }

  @ParameterizedTest
  @CsvSource({"none,true", "none,false", "copy-on-write,true", "clone,true", "clone,false"})
  void aDeviceIsCheckedBeforeItIsLeasedOrCopiedAndTheCheckGoesWithTheDisk(
      String copy, boolean listed) {
    var planned = plan(copy, listed);
    var steps = planned.plan().steps();
    var check = steps.indexOf(new Step.CheckDevice("/dev/loop0", listed));
    assertThat(check).isPositive();
    assertThat(steps.get(check + 1))
        .isInstanceOf(copy.equals("clone") ? Step.CloneDisk.class : Step.TakeLease.class);
    assertThat(PlanJson.read(PlanJson.write(planned.plan()))).isEqualTo(planned.plan());

    var layout = new StateLayout(Path.of("/s"), Path.of("/r"));
    var without =
        new DiskChanges(layout, planned.plan(), String.valueOf(planned.domainXml())).detach("d");
    assertThat(without.dropped()).contains(steps.get(check));
    assertThat(without.next().steps()).noneMatch(Step.CheckDevice.class::isInstance);
  }
}
