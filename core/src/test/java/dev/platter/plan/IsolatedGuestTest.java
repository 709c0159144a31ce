package dev.platter.plan;

import static org.assertj.core.api.Assertions.assertThat;

import dev.platter.dialect.Manifests;
import dev.platter.plan.NodeFacts.Accelerator;
import java.nio.file.Path;
import java.util.Map;
import org.junit.jupiter.api.Test;

class IsolatedGuestTest {
  private static String domain(boolean isolated) {
    var text = "kind: VM\nspec: {domain: {devices: {disks: [{source: {file: /a}}]}}}\n";
    var vm = Manifests.read("t.yaml", text).getFirst();
    var layout = new StateLayout(Path.of("/state"), Path.of("/run/a,b"));
    var facts =
        new NodeFacts(
            layout, Accelerator.TCG, "", "", "qemu", Map.of(), Map.of(), isolated, Map.of());
    return String.valueOf(Planner.plan(vm, facts).domainXml());
  }

  /** QEMU's user-mode network would lead to what listens on the machine's loopback. */
  @Test
  void aGuestOfSomebodyElseHasNoWayIntoTheMachinesNetwork() {
    assertThat(domain(false)).contains("'user,id=net0'");
    assertThat(domain(true))
        .doesNotContain("'user,")
        .contains("'stream,id=net0,server=on,addr.type=unix,addr.path=/run/a,,b/vms/");
  }
}
