package dev.platter.e2e;

import static dev.platter.e2e.PlatterCluster.shared;
import static org.assertj.core.api.Assertions.assertThat;

import dev.platter.lab.KubeNode;
import java.time.Duration;
import java.util.Map;
import java.util.Random;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Disks of identities while those who make and remove them are killed. */
class IdentityKillTest {
  private static final String VOLUMES = "/var/lib/platter/pools/volumes";
  private static final int COUNT = 20;

  @AfterEach
  void nothingIsLeft() {
    shared().kubectl("delete", "pods,vmid,vmidset", "--all", "--timeout=90s");
  }

  /** {@code ./chaos imports} has the other steps, and the other actors. */
  @Test
  void anImageIsImportedOnceWhoeverDiesMeanwhile() {
    try (var storage = ImportStorage.hostPath();
        var identities = new ImportedIdentities(storage, new Random(1))) {
      var killed =
          identities.comeAndGo(
              Map.of(
                  ImportStep.FILL, ImportActor.DAEMON,
                  ImportStep.SNAPSHOT, ImportActor.CONTROLLER,
                  ImportStep.LEAVE, ImportActor.CONTROLLER));
      assertThat(killed).isEqualTo(3);
    }
  }

  private static String identities() {
    return IntStream.range(0, COUNT)
        .mapToObj(
            i ->
                """
                apiVersion: virtlet.k8s/v1
                kind: VirtletVMIdentity
                metadata: {name: local-%d}
                spec: {image: "%s", nodeName: node%d}
                ---
                """
                    .formatted(i, shared().markerByDigest(), 1 + i % 2))
        .collect(Collectors.joining());
  }

  /** As QEMU's tool sees them: nothing is in them yet, so all reads go to the image. */
  private static void hasDisks(KubeNode node, int count) {
    var seen =
        node.exec(
            "sh",
            "-euc",
            """
            for disk in %s/*-root.qcow2; do
              qemu-img check -q $disk
              qemu-img info $disk | grep -o '(67108864 bytes)'
              qemu-img map --output=json $disk | grep '"depth": 0.*"data": true' || true
            done
            """
                .formatted(VOLUMES));
    assertThat(seen.lines()).hasSize(count).allMatch("(67108864 bytes)"::equals);
  }

  @Test
  void twentyDisksOnNodesAreMadeAndGoneWhoeverDiesMeanwhile() {
    shared().apply(identities());
    ends();
    shared().kubectl("wait", "--for=condition=Ready", "vmid", "--all", "--timeout=120s");
    for (var node : shared().kube().nodes()) {
      hasDisks(node, COUNT / 2);
    }

    shared().awaitPlatter();
    shared().kubectl("delete", "vmid", "--all", "--wait=false");
    ends();
    shared()
        .await(
            "identities are left",
            () -> shared().kube().tryKubectl("get", "vmid", "-o", "name").output(),
            String::isEmpty);
    shared().awaitPlatter();
    for (var node : shared().kube().nodes()) {
      shared().await("left on " + node.name(), () -> shared().leftOn(node), String::isEmpty);
    }
  }

  /** All daemons and the controller, in the midst of it. */
  private static void ends() {
    for (var node : shared().kube().nodes()) {
      assertThat(Kill.DAEMON.strike(shared(), node, Duration.ZERO)).isTrue();
      Kill.DAEMON_POD.strike(shared(), node, Duration.ZERO);
      Kill.CONTROLLER.strike(shared(), node, Duration.ZERO);
    }
  }
}
