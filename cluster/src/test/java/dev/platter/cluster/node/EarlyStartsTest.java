package dev.platter.cluster.node;

import static org.assertj.core.api.Assertions.assertThat;

import dev.platter.cluster.api.Names;
import dev.platter.cluster.csi.PodSockets;
import dev.platter.cluster.csi.PodVolume;
import dev.platter.node.image.Images.BytesDone;
import io.fabric8.kubernetes.api.model.Pod;
import io.fabric8.kubernetes.api.model.VolumeBuilder;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.Callable;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What is made before a launcher calls. */
@Timeout(60)
class EarlyStartsTest extends PodVmsScene {
  private static final String POD = uid(2);

  private EarlyStarts early;
  private PodSockets sockets;

  @BeforeEach
  void begin() {
    early = new EarlyStarts(vms, api, work);
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
    var begun = early.take(POD);
    return begun.isEmpty() ? Optional.empty() : begun.get().finish(BytesDone.NOBODY);
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
  }

  @Test
  void aPodThatGoesBeforeItsLauncherCalledLeavesNothing() throws Exception {
    pod();
    publish();
    await(this::isDiskThere);
    sockets.unpublish("csi-1", target());
    await(this::isNothingThere);
    assertThat(running).isEmpty();
  }

  @Test
  void aVmThatRunsIsLeftAloneWhenTheKubeletAsksForItsSocketAgain() throws Exception {
    vms.start(pod());
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
  void aLauncherThatWasFasterStartsItsVmItself() throws Exception {
    var pod = pod();
    assertThat(call()).isEmpty();
    publish();
    vms.start(pod);
    assertThat(running).hasSize(1);
  }

  @Test
  void whatFailedBeforeTheLauncherCalledIsTriedAgain() throws Exception {
    var pod = pod(POD, description(blank("1Mi", false)), uid(1));
    publish(); // There is no such VM object yet.
    Thread.sleep(200);
    object(uid(1), false);
    assertThat(call()).isEmpty();
    vms.start(pod);
    assertThat(running).hasSize(1);
  }

  @Test
  void aPodWithAClaimWaitsForItsLauncher() throws Exception {
    pod()
        .getSpec()
        .getVolumes()
        .add(
            new VolumeBuilder()
                .withName("data")
                .withNewPersistentVolumeClaim("data", false)
                .build());
    publish();
    assertThat(call()).isEmpty();
    assertThat(isNothingThere()).isTrue();
  }

  @Test
  void filesMayComeAfterTheSocket() throws Exception {
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
    Thread.sleep(100);
    assertThat(isNothingThere()).isTrue();
    var secret =
        Files.createDirectories(
            work.resolve("pods/" + POD + "/volumes/kubernetes.io~secret/keys/..1"));
    Files.createSymbolicLink(secret.resolveSibling("..data"), Path.of("..1"));
    await(this::isDiskThere);
    assertThat(call()).isPresent();
  }
}
