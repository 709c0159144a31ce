package dev.platter.plan;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.tuple;

import dev.platter.dialect.Manifests;
import dev.platter.model.PlatterException;
import dev.platter.model.Vm;
import java.nio.file.Path;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** A VM on another node is what would have been planned there. */
class RelocationTest {
  private static final StateLayout THERE =
      new StateLayout(Path.of("/mnt/it's, there"), Path.of("/mnt/it's, there/run"));
  private static final Map<String, String> POOLS = Map.of("default", "/mnt/pool & more");

  private static Vm vm(String disks) {
    return Manifests.read("vm.yaml", disks).getFirst();
  }

  private static NodeFacts there(Vm vm) {
    var here = GoldenTest.facts(vm);
    return new NodeFacts(
        THERE,
        here.accelerator(),
        "qemu:///other",
        here.containerd(),
        here.emulator(),
        here.digests(),
        POOLS,
        here.isolated(),
        Map.of());
  }

  private static Relocation relocation(Vm vm) {
    var here = GoldenTest.facts(vm);
    return new Relocation(
        Planner.plan(vm, here).plan(), here.layout(), THERE, POOLS, "qemu:///other");
  }

  @Test
  void planAndDomainAreThoseThatTheOtherNodeWouldMake() {
    var vm =
        vm(
            """
            - {name: root, source: {image: "a/b:c"}, size: 1Gi, keep: true}
            - {name: twin, source: {image: "a/b:c"}, copy: {mode: clone}}
            - {name: far, source: {nbd: {host: {name: a.example, port: 10809}}}, copy: {mode: copy-on-write}}
            - {name: iscsi, source: {iscsi: {host: {name: a.example, port: 3260}, portal: "iqn.2026-01.dev:a", lun: 1}}}
            - {name: blank, source: {blank: {}}, size: 1Mi}
            """);
    var planned = Planner.plan(vm, there(vm));
    var relocation = relocation(vm);

    assertThat(relocation.plan()).isEqualTo(planned.plan());
    assertThat(relocation.domain(Planner.plan(vm, GoldenTest.facts(vm)).domainXml()))
        .isEqualTo(planned.domainXml());
    assertThat(relocation.copied())
        .extracting(Relocation.Copied::name, Relocation.Copied::overlay)
        .containsExactly(
            tuple("root", true), tuple("twin", false), tuple("far", true), tuple("blank", false));
  }

  @Test
  void eachDiskThatOnlyThisNodeHasIsNamedWithItsReason() {
    var vm =
        vm(
            """
            - {name: root, source: {blank: {}}, size: 1Mi}
            - {name: file, source: {file: /srv/a.raw}}
            - {name: below, source: {file: /srv/b.raw}, copy: {mode: copy-on-write}}
            - {name: copy, source: {file: /srv/c.raw}, copy: {mode: clone}}
            - {name: socket, source: {nbd: {socket: /srv/nbd.sock}}}
            """);

    assertThatExceptionOfType(PlatterException.class)
        .isThrownBy(() -> relocation(vm))
        .satisfies(
            refused ->
                assertThat(refused.details())
                    .hasSize(4)
                    .contains(
                        "disk file: it is on the file /srv/a.raw of this node",
                        "disk below: it is on the file /srv/b.raw of this node",
                        "disk socket: it is reached through the socket /srv/nbd.sock of this node")
                    .anyMatch(reason -> reason.endsWith("at each start, from /srv/c.raw")));
  }
}
