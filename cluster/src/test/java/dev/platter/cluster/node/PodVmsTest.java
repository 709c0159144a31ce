package dev.platter.cluster.node;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.platter.dialect.Manifests;
import dev.platter.model.Claim;
import dev.platter.model.PlatterException;
import dev.platter.plan.FillRecord;
import io.fabric8.kubernetes.api.model.PersistentVolumeBuilder;
import io.fabric8.kubernetes.api.model.PersistentVolumeClaim;
import io.fabric8.kubernetes.api.model.PersistentVolumeClaimBuilder;
import io.fabric8.kubernetes.api.model.Pod;
import io.fabric8.kubernetes.api.model.PodBuilder;
import io.fabric8.kubernetes.api.model.Quantity;
import java.io.IOException;
import java.nio.file.Files;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** Whose VM is whose. */
class PodVmsTest extends PodVmsScene {
  private static PersistentVolumeClaim claim(String record) {
    return new PersistentVolumeClaimBuilder()
        .withNewMetadata()
        .withName("data")
        .withNamespace("default")
        .withAnnotations(record.isEmpty() ? Map.of() : Map.of(Claim.FILL_RECORD, record))
        .endMetadata()
        .withNewSpec()
        .withAccessModes("ReadWriteOnce")
        .withVolumeMode("Block")
        .withVolumeName("pv")
        .withNewResources()
        .addToRequests("storage", new Quantity("1Gi"))
        .endResources()
        .endSpec()
        .build();
  }

  @Test
  void aClaimIsLookedAtAgainWhenItsLeaseIsTaken() throws IOException {
    var half = new FillRecord("a.example/f:1", "sha256:" + "0".repeat(64), "", "1", false).text();
    api.claims.addAll(List.of(claim(""), claim(half)));
    api.volume =
        new PersistentVolumeBuilder()
            .withNewMetadata()
            .withName("pv")
            .endMetadata()
            .withNewSpec()
            .withAccessModes("ReadWriteOnce")
            .withVolumeMode("Block")
            .addToCapacity("storage", new Quantity("1Gi"))
            .withNewClaimRef()
            .withNamespace("default")
            .withName("data")
            .endClaimRef()
            .withNewIscsi()
            .withTargetPortal("192.0.2.1:3260")
            .withIqn("iqn.2017-01.a:b")
            .withLun(0)
            .endIscsi()
            .endSpec()
            .build();
    object(uid(1), false);
    try (var server = new LeaseServer()) {
      var leasing =
          vms(new Starts(_ -> {}), new DiskLeases(server.client(), "platter-system", "node1"));
      var pod =
          pod(uid(2), description("{\"name\": \"data\", \"source\": {\"pvc\": \"data\"}}"), uid(1));
      assertThatThrownBy(() -> leasing.start(pod))
          .isInstanceOf(PlatterException.class)
          .hasMessageContaining("holds a part of the image a.example/f:1");
      assertThat(server.taken()).isPositive();
      assertThat(server.held()).as("it is given back").isZero();
    }
    assertThat(running).isEmpty();
  }

  @Test
  void disksAreToldWhenTheyAreOtherThanWhatWasTold() throws IOException {
    object(uid(1), false);
    vms.start(pod(uid(2), description(blank("1Mi", true)), uid(1)));
    var reports = new DiskReports(vms, owners, api, _ -> {});
    api.away = true;
    reports.tell();
    api.away = false;
    reports.tell();
    reports.tell();
    assertThat(api.told).hasSize(1);
    assertThat(api.told.getFirst().getFirst().name()).isEqualTo("data");
    assertThat(api.told.getFirst().getFirst().size()).isEqualTo(4096);
    size = 8192;
    reports.tell();
    end();
    reports.tell();
    assertThat(api.told).hasSize(2);
  }

  @Test
  void theKeptDisksOfAVmObjectSurviveAPodOfItsName() throws IOException {
    object(uid(1), false);
    vms.start(pod(uid(2), description(blank("1Mi", true)), uid(1)));
    end();
    // Nobody's: it only has the name.
    assertThatThrownBy(() -> vms.start(pod(uid(3), description(blank("1Mi", true)), "")))
        .isInstanceOf(PlatterException.class)
        .hasMessageContaining("disks of the VirtualMachine default/db");
    assertThat(disks()).isEqualTo(1);
    assertThat(api.kept).containsExactly(uid(1));
  }

  /** Its disks are named by it. */
  @Test
  void theUuidOfAPodThatHasEndedIsFreeWhenThePodIsDeleted() throws IOException {
    var first = pod(uid(1), withUuid("db"), "");
    vms.start(first);
    var second = pod(uid(2), withUuid("other"), "");
    second.getMetadata().setName("other");
    assertThatThrownBy(() -> vms.start(second))
        .isInstanceOf(PlatterException.class)
        .hasMessageEndingWith("is in use by the VM default/db on this node")
        .extracting("next")
        .asString()
        .startsWith("Delete its pod");
    end();
    assertThatThrownBy(() -> vms.start(second))
        .isInstanceOf(PlatterException.class)
        .hasMessageContaining("which has ended");
    assertThat(disks()).isEqualTo(1);
    reaper.sweep();
    vms.start(second);
    assertThat(running).hasSize(1);
  }

  private static String withUuid(String name) {
    return description(blank("1Mi", true))
        .replace("\"db\"", "\"" + name + "\"")
        .replace(
            "\"domain\": {",
            "\"domain\": {\"firmware\": {\"uuid\": \"5d307ca9-b3ef-428c-8861-06e72d69f223\"}, ");
  }

  @Test
  void aVmThatSomebodyRunsOnTheNodeIsLeftAlone() throws IOException {
    var theirs = Manifests.read("db", description(blank("1Mi", true))).getFirst();
    node.run(theirs);
    assertThatThrownBy(() -> vms.start(pod(uid(3), description(blank("1Mi", true)), "")))
        .isInstanceOf(PlatterException.class)
        .hasMessageContaining("is not the cluster's");
    assertThat(running).contains(theirs.uuid());
    api.pods.clear();
    reaper.sweep();
    assertThat(running).contains(theirs.uuid());
    assertThat(disks()).isEqualTo(1);
  }

  @Test
  void aChangedVmThatKeepsDisksIsRefusedHoweverOftenItIsTried() throws IOException {
    object(uid(1), false);
    vms.start(pod(uid(2), description(blank("1Mi", true)), uid(1)));
    end();
    for (var attempt = 3; attempt < 6; attempt++) {
      var changed = pod(uid(attempt), description(blank("2Mi", true)), uid(1));
      assertThatThrownBy(() -> vms.start(changed))
          .isInstanceOf(PlatterException.class)
          .hasMessageContaining("another description");
      assertThat(running).isEmpty();
    }
    vms.start(pod(uid(6), description(blank("1Mi", true)), uid(1)));
    assertThat(running).hasSize(1);
  }

  @Test
  void aChangedVmThatKeepsNothingIsMadeAnew() throws IOException {
    object(uid(1), false);
    vms.start(pod(uid(2), description(blank("1Mi", false)), uid(1)));
    end();
    vms.start(pod(uid(3), description(blank("2Mi", false)), uid(1)));
    assertThat(running).hasSize(1);
    try (var files = Files.list(layout.pool("default"))) {
      assertThat(files.map(file -> file.toFile().length())).containsExactly(2L << 20);
    }
  }

  @Test
  void whatAPodLeftGoesWhenTheApiServerSaysThatItIsGone() throws IOException {
    vms.start(pod(uid(2), description(blank("1Mi", true)), ""));
    end();
    api.away = true;
    reaper.sweep();
    assertThat(disks()).isEqualTo(1);
    api.away = false;
    reaper.sweep();
    assertThat(disks()).isZero();
    assertThat(owners.all()).isEmpty();
  }

  @Test
  void nobodyIsAskedForAPodThatIsHere() throws IOException {
    var pod = pod(uid(2), description(blank("1Mi", true)), "");
    vms.start(pod);
    api.heard.put("default/db", pod);
    end();
    reaper.sweep();
    assertThat(disks()).isEqualTo(1);
    api.heard.clear();
    reaper.sweep();
    assertThat(disks()).isZero();
  }

  /** Or a volume of it would be in use, and the pod stay because of that. */
  @Test
  void aVmWhoseLauncherWasKilledForGoodIsStoppedBeforeItsPodIsGone() throws IOException {
    var pod = pod(uid(2), description(blank("1Mi", true)), "");
    vms.start(pod);
    for (var more : List.of(pod, with(pod, "Running", false), with(pod, "Running", true))) {
      assertThat(running).hasSize(1);
      see(more);
      reaper.sweep();
    }
    assertThat(running).isEmpty();
    assertThat(disks()).isEqualTo(1);
  }

  @Test
  void aVmOfAPodThatHasFailedIsStopped() throws IOException {
    object(uid(1), false);
    var pod = pod(uid(2), description(blank("1Mi", true)), uid(1));
    vms.start(pod);
    see(with(pod, "Failed", false));
    reaper.sweep();
    assertThat(running).isEmpty();
  }

  @Test
  void aVmThatIsBackIsNotStoppedSinceAnEarlierPodOfItHasEnded() throws IOException {
    object(uid(1), false);
    var now = pod(uid(2), description(blank("1Mi", true)), uid(1));
    vms.start(now);
    var earlier = new PodBuilder(now).editMetadata().withUid(uid(3)).endMetadata().build();
    api.heard.put("default/db", with(earlier, "Succeeded", true));
    reaper.sweep();
    assertThat(running).hasSize(1);
  }

  private void see(Pod pod) {
    api.heard.put("default/db", pod);
    api.pods.put("default/db", pod);
  }

  /** Its container has ended. */
  private static Pod with(Pod pod, String phase, boolean deleted) {
    return new PodBuilder(pod)
        .editMetadata()
        .withDeletionTimestamp(deleted ? "2026-01-01T00:00:00Z" : null)
        .endMetadata()
        .withNewStatus()
        .withPhase(phase)
        .addNewContainerStatus()
        .withNewState()
        .withNewTerminated()
        .withExitCode(137)
        .endTerminated()
        .endState()
        .endContainerStatus()
        .endStatus()
        .build();
  }

  @Test
  void aPodWhoseVmObjectIsGoneOrNeverWasLeavesNothing() throws IOException {
    var pod = pod(uid(2), description(blank("1Mi", true)), uid(1));
    assertThatThrownBy(() -> vms.start(pod))
        .isInstanceOf(PlatterException.class)
        .hasMessageContaining("is gone");
    assertThat(running).isEmpty();
    api.pods.clear();
    reaper.sweep();
    assertThat(layout.pool("default")).doesNotExist();
    assertThat(owners.all()).isEmpty();
  }

  @Test
  void aDeletedVmObjectIsReleasedWhenItsDisksAreGone() throws IOException {
    object(uid(1), false);
    vms.start(pod(uid(2), description(blank("1Mi", true)), uid(1)));
    end();
    reaper.sweep();
    assertThat(disks()).isEqualTo(1);
    object(uid(1), true);
    reaper.sweep();
    assertThat(disks()).isZero();
    assertThat(api.kept).isEmpty();
  }

  /** What a name leads to is told by nobody but the node. */
  @Test
  void aServerThatIsTheNodeItselfIsNotGivenToQemu() throws IOException {
    var nbd =
        "{\"name\": \"data\", \"source\": {\"nbd\": {\"host\": {\"name\": \"%s\", \"port\": 9}}}}";
    var here = Manifests.read("db", description(nbd.formatted("localhost"))).getFirst();
    assertThatThrownBy(() -> node.run(here))
        .isInstanceOf(PlatterException.class)
        .hasMessageContaining("this machine itself");
    assertThat(running).isEmpty();
    node.run(Manifests.read("db", description(nbd.formatted("198.18.0.1"))).getFirst());
    assertThat(running).hasSize(1);
  }

  @Test
  void aStartIsTimedInItsParts() throws IOException {
    var clock = vms.start(pod(uid(2), description(blank("1Mi", false)), ""));
    assertThat(StartClock.Part.values()).allMatch(part -> clock.seconds(part) > 0);
    assertThat(clock.toString())
        .matches("[0-9.]+ ms \\(prepare [0-9.]+, disk [0-9.]+, launcher [0-9.]+, qemu [0-9.]+\\)");
  }

  @Test
  void whatIsNotOneVirtualMachineOfThePodsNameIsRefused() {
    for (var text :
        List.of(
            "{\"kind\": \"List\", \"items\": [" + description(blank("1Mi", false)) + "]}",
            description(blank("1Mi", false)).replace("VirtualMachine", "VM"))) {
      assertThatThrownBy(() -> vms.start(pod(uid(2), text, "")))
          .isInstanceOf(PlatterException.class)
          .hasMessageContaining("annotation platter.dev/vm");
    }
  }

  /** From node2 to node1, or away from here. */
}
