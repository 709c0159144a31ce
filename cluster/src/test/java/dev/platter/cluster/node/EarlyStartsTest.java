package dev.platter.cluster.node;

import static org.assertj.core.api.Assertions.assertThat;

import dev.platter.cluster.api.Names;
import dev.platter.cluster.csi.PodSockets;
import dev.platter.cluster.csi.PodVolume;
import dev.platter.node.VmStatus;
import dev.platter.node.image.Images.BytesDone;
import io.fabric8.kubernetes.api.model.Pod;
import io.fabric8.kubernetes.api.model.VolumeBuilder;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.concurrent.CopyOnWriteArrayList;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What is made before a launcher calls. */
@Timeout(60)
class EarlyStartsTest extends PodVmsScene {
  private static final String POD = uid(2);

  private final List<String> log = new CopyOnWriteArrayList<>();
  private EarlyStarts early;
  private PodSockets sockets;

  @BeforeEach
  void begin() {
    begin(Duration.ofMinutes(1));
  }

  private void begin(Duration patience) {
    early = new EarlyStarts(vms, api, work, patience, log::add);
    sockets = early.with(fake(PodSockets.class));
  }

  private Path target() {
    return work.resolve("pods/" + POD + "/volumes/kubernetes.io~csi/platter-socket/mount");
  }

  private void publish() throws IOException {
    sockets.publish(new PodVolume("csi-1", target(), "default", "db", POD, "default", Map.of()));
  }

  private Pod pod() {
    return pod(POD, description(blank("1Mi", false)), "");
  }

  private Optional<StartClock> call() throws IOException {
    return early.finish(POD, BytesDone.NOBODY);
  }

  private static void await(Callable<Boolean> condition) throws Exception {
    while (!condition.call()) {
      Thread.sleep(5);
    }
  }

  private boolean isNothingThere() throws IOException {
    return node.list().isEmpty() && (Files.notExists(layout.pool("default")) || disks() == 0);
  }

  private boolean isDiskThere() throws IOException {
    return Files.exists(layout.pool("default")) && disks() == 1;
  }

  @Test
  void theDiskIsThereBeforeTheLauncherCallsAndTheGuestRunsWhenItDoes() throws Exception {
    pod();
    publish();
    await(this::isDiskThere);
    Thread.sleep(50); // It would run by now.
    assertThat(running).isEmpty();
    var clock = call();
    assertThat(running).hasSize(1);
    assertThat(clock).isPresent();
    assertThat(clock.get().seconds(StartClock.Part.LAUNCHER)).isPositive();
    assertThat(log).isEmpty();
  }

  @Test
  void aPodThatGoesBeforeItsLauncherCalledLeavesNothing() throws Exception {
    pod();
    publish();
    await(this::isDiskThere);
    sockets.unpublish("csi-1", target());
    await(this::isNothingThere);
    assertThat(running).isEmpty();
    assertThat(log).isEmpty();
  }

  @Test
  void aLauncherThatComesTooLateStartsItsVmItself() throws Exception {
    begin(Duration.ofMillis(300));
    var pod = pod();
    publish();
    await(this::isDiskThere);
    await(this::isNothingThere);
    assertThat(call()).isEmpty();
    vms.start(pod);
    assertThat(running).hasSize(1);
    assertThat(log).isEmpty();
  }

  @Test
  void keptDisksStayWhenAPodGoesBeforeItsLauncherCalled() throws Exception {
    object(uid(1), false);
    vms.start(pod(uid(3), description(blank("1Mi", true)), uid(1)));
    end();
    pod(POD, description(blank("1Mi", true)), uid(1));
    publish();
    await(() -> node.status(KEY).phase() == VmStatus.Phase.CHANGING);
    sockets.unpublish("csi-1", target());
    await(() -> node.status(KEY).phase() == VmStatus.Phase.STOPPED);
    assertThat(disks()).isEqualTo(1);
  }

  @Test
  void aVmThatRunsIsLeftAloneWhenTheKubeletAsksForItsSocketAgain() throws Exception {
    vms.start(pod());
    publish();
    assertThat(call()).isEmpty();
    assertThat(running).hasSize(1);
  }

  @Test
  void aVmThatRunsIsLeftAloneUntilTheLauncherOfItsNextPodCalls() throws Exception {
    object(uid(1), false);
    vms.start(pod(uid(3), description(blank("1Mi", false)), uid(1)));
    pod(POD, description(blank("1Mi", false)), uid(1));
    publish();
    assertThat(call()).isEmpty();
    assertThat(running).hasSize(1);
  }

  @Test
  void aVmThatHasEndedIsNotStartedBeforeItsNextLauncher() throws Exception {
    var pod = pod();
    vms.start(pod);
    end();
    api.pods.put("default/db", pod);
    publish();
    assertThat(call()).isEmpty();
    assertThat(running).isEmpty();
  }

  @Test
  void nothingIsBegunForALauncherThatHasCalled() throws Exception {
    pod();
    assertThat(call()).isEmpty();
    publish();
    Thread.sleep(300); // By now there would be a disk.
    assertThat(isNothingThere()).isTrue();
  }

  @Test
  void whatFailedBeforeTheLauncherCalledIsSaidAndTriedAgain() throws Exception {
    var pod = pod(POD, description(blank("1Mi", false)), uid(1));
    publish(); // There is no such VM object yet.
    await(() -> !log.isEmpty());
    assertThat(log.getFirst()).contains(POD, "VirtualMachine of this pod is gone");
    object(uid(1), false);
    assertThat(call()).isEmpty();
    vms.start(pod);
    assertThat(running).hasSize(1);
  }

  @ParameterizedTest
  @ValueSource(strings = {"claim", "identity", "arrival", "fill", "deletion"})
  void whatDoesNotStartByItselfWaitsForItsLauncher(String why) throws Exception {
    var pod = pod();
    switch (why) {
      case "claim" ->
          pod.getSpec()
              .getVolumes()
              .add(
                  new VolumeBuilder()
                      .withName("data")
                      .withNewPersistentVolumeClaim("data", false)
                      .build());
      case "identity" -> pod.getMetadata().getLabels().put(Names.IDENTITY, "db");
      case "arrival" -> pod.getMetadata().getAnnotations().put(Names.MOVED_VM, "db");
      case "fill" -> pod.getMetadata().getAnnotations().put(Names.FILL, "data");
      default -> pod.getMetadata().setDeletionTimestamp("2026-01-01T00:00:00Z");
    }
    publish();
    assertThat(call()).isEmpty();
    assertThat(isNothingThere()).isTrue();
    assertThat(running).isEmpty();
  }

  @Test
  void filesMayComeAfterTheSocketAndOneAfterAnother() throws Exception {
    var volumes = pod().getSpec().getVolumes();
    volumes.add(new VolumeBuilder().withName(Names.SOCKET_VOLUME).build());
    volumes.add(
        new VolumeBuilder()
            .withName("keys")
            .withNewSecret()
            .withSecretName("keys")
            .endSecret()
            .build());
    publish();
    var secret = work.resolve("pods/" + POD + "/volumes/kubernetes.io~secret/keys");
    var files = Files.createDirectories(secret.resolve("..1"));
    for (var name : List.of("a", "b")) {
      Files.writeString(files.resolve(name), name);
    }
    Files.createSymbolicLink(secret.resolve("..data"), Path.of("..1"));
    Files.createSymbolicLink(secret.resolve("a"), Path.of("..data/a"));
    Thread.sleep(200); // By now there would be a disk.
    assertThat(isNothingThere()).isTrue();
    Files.createSymbolicLink(secret.resolve("b"), Path.of("..data/b"));
    await(this::isDiskThere);
    assertThat(call()).isPresent();
  }
}
