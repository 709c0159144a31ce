package dev.platter.plan;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import dev.platter.dialect.Manifests;
import dev.platter.model.PlatterException;
import org.junit.jupiter.api.Test;

class UsageTypeTest {
  private static Plan plan(String disk) {
    var text = "kind: VM\nspec: {domain: {devices: {disks: [" + disk + "]}}}\n";
    var vm = Manifests.read("t.yaml", text).getFirst();
    return Planner.plan(vm, GoldenTest.facts(vm)).plan();
  }

  @Test
  void anUnknownUsageTypeIsRefusedWithTheKnownOnes() {
    var refused =
        catchThrowableOfType(
            PlatterException.class,
            () -> plan("{name: d, source: {blank: {}}, copy: {usage-type: fats}, size: 1Mi}"));
    assertThat(refused.code()).isEqualTo(PlatterException.Code.INVALID);
    assertThat(refused)
        .hasMessage(
            "disk d: this machine has no pool for the usage-type fats; it has default, fast, slow, volumes");
    assertThat(refused.next()).contains("kubevirt.io/storage.usage-type.fats");
  }

  @Test
  void aPlanNamesThePoolsThatItUsesAndNoOthers() {
    assertThat(plan("{source: {blank: {}}, copy: {usage-type: fast}, size: 1Mi}").pools())
        .containsOnly(java.util.Map.entry("fast", "/storage/ssd"));
    assertThat(plan("{source: {file: /a}}").pools()).isEmpty();
    assertThat(plan("{source: {file: /a}, copy: {mode: clone, usage-type: default}}").pools())
        .containsOnlyKeys("default");
  }

  @Test
  void theNameOfADisksFileTellsWhoseItIs() {
    var plan = plan("{source: {blank: {}}, size: 1Mi}");
    assertThat(StateLayout.ownerOf(StateLayout.diskFile(plan.uuid(), "a-b.c", "raw")))
        .contains(plan.uuid());
    assertThat(StateLayout.ownerOf("somebody-elses.qcow2")).isEmpty();
    assertThat(StateLayout.ownerOf(plan.uuid().toString())).isEmpty();
  }
}
