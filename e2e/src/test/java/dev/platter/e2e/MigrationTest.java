package dev.platter.e2e;

import static dev.platter.e2e.PlatterCluster.shared;
import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

/** A VM goes from node to node while its guest writes. */
class MigrationTest {

  @Test
  void nothingIsLostOnTheWayThereAndBackNorByAKillACancelOrADrain() {
    try (var vm = new MigratingVm(shared(), "mover", new WriterVm.Disk.Kept())) {
      var there = vm.moveTo(vm.otherNode());
      vm.awaitPhase(there, "Succeeded");
      assertThat(vm.node().name()).isEqualTo("node2");
      vm.isInOnePlace();
      vm.goesOn();

      assertThat(shared().plugin("migrate", "mover"))
          .containsPattern("mover runs on node1; the guest stood still for at most \\d+ms");
      assertThat(vm.node().name()).isEqualTo("node1");
      vm.isInOnePlace();

      var cancelled = vm.moveTo(vm.otherNode());
      vm.awaitPhase(cancelled, "Moving");
      shared().kubectl("delete", "vmm", cancelled, "--timeout=60s");
      vm.isInOnePlace();
      vm.goesOn();

      var killed = vm.moveTo(vm.otherNode());
      vm.awaitPhase(killed, "Moving");
      shared().killDaemon(vm.node());
      vm.awaitPhase(killed, "Succeeded|Failed");
      vm.isInOnePlace();
      vm.goesOn();

      var drained = vm.node();
      shared()
          .kubectl(
              "drain",
              drained.name(),
              "--ignore-daemonsets",
              "--delete-emptydir-data",
              "--pod-selector=platter.dev/vm-name=mover",
              "--timeout=90s");
      assertThat(vm.node().name()).isNotEqualTo(drained.name());
      shared().kubectl("uncordon", drained.name());
      vm.isInOnePlace();
      vm.goesOn();

      System.out.println(shared().kubectl("get", "vmm", "-o", "wide"));
      assertThat(vm.faults()).isEmpty();
      assertThat(vm.boots()).hasSize(1);
    }
  }
}
