package dev.platter.cluster.node;

import static org.assertj.core.api.Assertions.assertThat;

import dev.platter.dialect.Manifests;
import dev.platter.node.VmDisks;
import dev.platter.plan.NodeFacts;
import dev.platter.plan.NodeFacts.Accelerator;
import dev.platter.plan.Planner;
import dev.platter.plan.StateLayout;
import java.nio.file.Path;
import java.util.Map;
import java.util.OptionalLong;
import org.junit.jupiter.api.Test;

class DiskStatusesTest {
  private static final StateLayout LAYOUT =
      new StateLayout(Path.of("/var/lib/platter"), Path.of("/run/platter"));

  @Test
  void eachDiskIsToldWithItsImageItsChainAndHowMuchOfItIsHere() {
    var vm =
        Manifests.read(
                "vm",
                """
                kind: VirtualMachine
                metadata: {name: web}
                spec:
                  cloudInit: {userData: {}}
                  domain:
                    devices:
                      disks:
                      - {name: root, source: {image: 'a.example/one:1'}}
                      - name: tools
                        source: {image: 'a.example/two:1'}
                        copy: {mode: none}
                        access-mode: read-shared
                      - {name: data, source: {nbd: {host: {name: b.example}, export: x}}}
                """)
            .getFirst();
    var plan =
        Planner.plan(
                vm,
                new NodeFacts(
                    LAYOUT,
                    Accelerator.TCG,
                    "",
                    "",
                    "qemu",
                    Map.of("a.example/one:1", "sha256:1", "a.example/two:1", "sha256:2"),
                    Map.of("default", "/pool")))
            .plan();
    var disks =
        DiskStatuses.of(
            plan,
            LAYOUT,
            plan.disks().stream()
                .map(disk -> new VmDisks.Listed(disk, OptionalLong.of(4096)))
                .toList(),
            Map.of("sha256:1", new DiskStatuses.Fetched(999, 1000)));
    assertThat(disks).extracting(disk -> disk.name()).containsExactly("root", "tools", "data");
    var root = disks.getFirst();
    assertThat(root.source()).isEqualTo("image a.example/one:1");
    assertThat(root.digest()).isEqualTo("sha256:1");
    assertThat(root.size()).isEqualTo(4096);
    assertThat(root.chain()).hasSize(2).last().isEqualTo(LAYOUT.base("sha256:1").toString());
    assertThat(root.fetched()).isEqualTo(999);
    assertThat(root.percent()).isEqualTo(99);
    assertThat(disks.get(1).digest()).isEqualTo("sha256:2");
    assertThat(disks.get(1).percent()).isNull();
    assertThat(disks.get(2).digest()).isNull();
    assertThat(disks.get(2).chain()).containsExactly("nbd://b.example:10809/x");
  }
}
