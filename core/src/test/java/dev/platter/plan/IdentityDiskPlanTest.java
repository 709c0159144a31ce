package dev.platter.plan;

import static org.assertj.core.api.Assertions.assertThat;

import dev.platter.dialect.Manifests;
import dev.platter.model.IdentitySource;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

class IdentityDiskPlanTest {
  private static final String DIGEST = "sha256:" + "0123456789abcdef".repeat(4);

  private static Planned planned(@Nullable String digest) throws IOException {
    var text = Files.readString(Path.of("../examples/pod-identity.yaml"));
    var vm = Manifests.objects("pod-identity.yaml", text).vms().getFirst();
    var identity = ((IdentitySource) vm.bootDisk().source()).identity();
    var facts = GoldenTest.facts(vm);
    var place = IdentityPlan.place(identity, digest, "volumes", "/pools/volumes");
    return Planner.plan(
        vm,
        new NodeFacts(
            facts.layout(),
            facts.accelerator(),
            facts.libvirt(),
            facts.containerd(),
            facts.emulator(),
            facts.digests(),
            facts.pools(),
            facts.isolated(),
            Map.of(identity.key(), place)));
  }

  @Test
  void aDiskThatIsWholeNeedsNoImage() throws IOException {
    var whole = planned(null);
    assertThat(whole.plan().images()).isEmpty();
    assertThat(whole.plan().disks().getFirst().chain()).hasSize(1);
    assertThat(whole.domainXml()).contains("-root.qcow2'/>\n      <backingStore/>\n");

    var onBase = planned(DIGEST);
    assertThat(onBase.plan().disks().getFirst().chain()).hasSize(2);
    assertThat(onBase.plan().steps())
        .filteredOn(step -> !(step instanceof Step.EnsureImage))
        .as("all else is the same")
        .isEqualTo(whole.plan().steps());
  }
}
