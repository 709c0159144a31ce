package dev.platter.cluster.controller;

import static org.assertj.core.api.Assertions.assertThat;

import dev.platter.cluster.api.DiskImport;
import dev.platter.cluster.api.DiskUpload;
import dev.platter.cluster.api.FillPhase;
import dev.platter.cluster.api.Names;
import dev.platter.cluster.api.Reason;
import io.fabric8.kubernetes.api.model.ObjectMetaBuilder;
import io.fabric8.kubernetes.api.model.PersistentVolume;
import io.fabric8.kubernetes.api.model.PersistentVolumeBuilder;
import io.fabric8.kubernetes.api.model.PersistentVolumeClaim;
import io.fabric8.kubernetes.api.model.PersistentVolumeClaimBuilder;
import io.fabric8.kubernetes.api.model.PersistentVolumeStatusBuilder;
import io.fabric8.kubernetes.api.model.Pod;
import io.fabric8.kubernetes.api.model.Quantity;
import io.fabric8.kubernetes.api.model.Secret;
import java.time.Duration;
import java.time.Instant;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.TreeMap;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Claims are filled on a cluster in memory. */
class PopulationTest {
  private static final String KEY = "DiskImport/shop/debian";

  private FillingCluster world = new FillingCluster(KEY);
  private FakePopulations cluster = world.cluster;

  @BeforeEach
  void begin() {
    world = new FillingCluster(KEY);
    cluster = world.cluster;
    cluster.add(source());
    cluster.add(claim("root"));
  }

  private static DiskImport source() {
    var out = new DiskImport();
    out.setMetadata(new ObjectMetaBuilder().withNamespace("shop").withName("debian").build());
    out.setSpec(
        new DiskImport.Spec(
            new DiskImport.Source(
                null, new DiskImport.Http("https://a.example/d.qcow2", null, null), null, null),
            null,
            null,
            null));
    return out;
  }

  private static PersistentVolumeClaim claim(String name) {
    return new PersistentVolumeClaimBuilder()
        .withNewMetadata()
        .withName(name)
        .withNamespace("shop")
        .endMetadata()
        .withNewSpec()
        .withStorageClassName("fast")
        .withAccessModes("ReadWriteOnce")
        .withNewResources()
        .addToRequests("storage", new Quantity("1Gi"))
        .endResources()
        .withNewDataSourceRef(Names.GROUP, DiskImport.KIND, "debian", null)
        .endSpec()
        .build();
  }

  private void filled() {
    assertThat(cluster.objects.keySet())
        .hasSize(3)
        .contains("DiskImport debian", "PersistentVolumeClaim root");
    var said = world.said("root");
    assertThat(said.phase()).isEqualTo(FillPhase.FILLED);
    assertThat(said.digest()).isEqualTo(FillingCluster.DIGEST);
    assertThat(said.progress()).isEqualTo("100%");
    assertThat(cluster.all(DiskImport.class).getFirst().said().conditions())
        .singleElement()
        .satisfies(ready -> assertThat(ready.holds()).isTrue());
  }

  /** As when somebody trusts a bundle of all the world's authorities. */
  @Test
  void aClaimWhosePodWouldBeToldTooMuchWaitsAndSaysSo() {
    var usual = world.program;
    var authorities = new TreeMap<>(Map.of("r.example.crt", "x".repeat(200_000)));
    world.program = new FillPod.Program("platter:1", "Never", "", Optional.empty(), authorities);
    world.settle();
    assertThat(world.said("root").phase()).isEqualTo(FillPhase.WAITING);
    assertThat(world.said("root").reason()).isEqualTo(Reason.UNSUPPORTED.word());
    assertThat(world.said("root").message())
        .contains("platter-images", "*.crt", "131072", "Leave out");
    assertThat(world.pods).isZero();
    world.program = usual;
    world.settle();
    filled();
  }

  @Test
  void theControllerIsKilledBeforeAndAfterEachOfItsChanges() {
    var killedAt = 0;
    for (; ; killedAt++) {
      begin();
      var moments = new int[1];
      var at = killedAt;
      cluster.moment =
          () -> {
            if (moments[0]++ == at) {
              throw new FillingCluster.Killed();
            }
          };
      world.settle();
      filled();
      cluster.objects.remove("PersistentVolumeClaim root");
      world.settle();
      assertThat(cluster.objects.keySet()).containsExactly("DiskImport debian");
      if (moments[0] <= killedAt) {
        break;
      }
    }
    assertThat(killedAt).as("moments").isGreaterThan(12);
  }

  @ParameterizedTest
  @ValueSource(strings = {"Failed", "lost"})
  void aPodThatComesToGriefIsFollowedByAnotherWithAnotherVolume(String accident) {
    world.ends = _ -> world.pods == 1 ? accident : "Succeeded";
    world.settle();
    filled();
    assertThat(world.pods).isEqualTo(2);
    assertThat(world.said("root").attempts()).isEqualTo(accident.equals("Failed") ? 1 : null);
    if (accident.equals("Failed")) {
      assertThat(cluster.events).contains("PersistentVolumeClaim FillFailed: it is no disk");
    }
  }

  @Test
  void attemptsComeLaterEachTimeUntilItsSourceIsChanged() {
    world.ends = _ -> "Failed";
    world.settle();
    var said = world.said("root");
    assertThat(said.phase()).isEqualTo(FillPhase.RETRYING);
    assertThat(said.reason()).isEqualTo("Refused");
    assertThat(world.pods).isBetween(3, 4); // In 72 s: after 5, 10, 20 and 40.
    var before = world.pods;
    world.now = Instant.parse(Objects.requireNonNull(said.retryAt())).minus(Duration.ofSeconds(1));
    world.reconciler.reconcile(KEY);
    world.othersAct();
    assertThat(world.pods).isEqualTo(before);

    world.ends = _ -> "Succeeded";
    cluster.all(DiskImport.class).getFirst().getMetadata().setGeneration(2L);
    world.settle();
    filled();
  }

  @ParameterizedTest
  @ValueSource(strings = {"Pod", "PersistentVolumeClaim"})
  void whatIsRefusedIsTriedLaterEachTimeAndTakesNoVolume(String kind) {
    cluster.refused = object -> object.getKind().equals(kind);
    world.settle();
    var said = world.said("root");
    assertThat(said.phase()).isEqualTo(FillPhase.RETRYING);
    assertThat(said.message()).isEqualTo("exceeded quota");
    assertThat(said.attempts()).isBetween(3, 5); // In 72 s: after 5, 10, 20 and 40.
    assertThat(cluster.all(PersistentVolume.class)).isEmpty();
    assertThat(cluster.events).contains("PersistentVolumeClaim FillFailed: exceeded quota");
    cluster.refused = _ -> false;
    world.settle();
    filled();
  }

  @Test
  void aClaimWhoseVolumeIsGoneIsNotFilledAgain() {
    world.settle();
    filled();
    cluster.objects.keySet().removeIf(key -> key.startsWith("PersistentVolume "));
    Objects.requireNonNull(cluster.claim("root")).getStatus().setPhase("Lost");
    world.settle();
    assertThat(world.pods).isEqualTo(1);
    assertThat(world.said("root").reason()).isEqualTo(Reason.DISK_LOST.word());
    assertThat(cluster.objects.keySet())
        .containsExactly("DiskImport debian", "PersistentVolumeClaim root");
  }

  /** As with volumes that were there before: Kubernetes takes whichever fits. */
  @Test
  void aClaimThatGotItsVolumeFromSomebodyElseIsNotCalledFilled() {
    var volume =
        new PersistentVolumeBuilder()
            .withNewMetadata()
            .withName("old")
            .endMetadata()
            .withNewSpec()
            .endSpec()
            .build();
    cluster.add(volume);
    FakePopulations.own(volume, Objects.requireNonNull(cluster.claim("root")));
    world.othersAct();
    world.settle();
    assertThat(world.pods).isZero();
    assertThat(world.said("root").phase()).isEqualTo(FillPhase.WAITING);
    assertThat(world.said("root").reason()).isEqualTo(Reason.BOUND_ELSEWHERE.word());
    assertThat(cluster.events)
        .anyMatch(it -> it.startsWith("PersistentVolumeClaim BoundElsewhere"));
  }

  /** An informer may still have a pod that is gone. */
  @Test
  void aPodOfAnotherAttemptSaysNothingOfThisOnesVolume() {
    world.ends = _ -> "Pending";
    world.settle();
    var prime = cluster.all(PersistentVolumeClaim.class).getFirst();
    prime.getMetadata().getAnnotations().put(Names.FILLED_BY, "another");
    world.end(cluster.all(Pod.class).getFirst(), "Succeeded");
    world.reconciler.reconcile(KEY);
    assertThat(cluster.all(PersistentVolume.class))
        .singleElement()
        .satisfies(
            it ->
                assertThat(it.getSpec().getClaimRef().getUid())
                    .isEqualTo(prime.getMetadata().getUid()));
    world.ends = _ -> "Succeeded";
    world.settle();
    filled();
  }

  @ParameterizedTest
  @ValueSource(strings = {"Released", "Failed"})
  void aVolumeThatSomebodyMayBeDeletingIsNobodys(String phase) {
    world.ends =
        _ -> {
          if (world.pods == 1) {
            cluster
                .all(PersistentVolume.class)
                .getFirst()
                .setStatus(new PersistentVolumeStatusBuilder().withPhase(phase).build());
          }
          return "Succeeded";
        };
    world.settle();
    filled();
    assertThat(world.pods).isEqualTo(2);
  }

  /** Where the server does not drop it: nobody has asked whether the user may use what is there. */
  @Test
  void whatIsInAnotherNamespaceFillsNothing() {
    var claim = Objects.requireNonNull(cluster.claim("root"));
    claim.getSpec().getDataSourceRef().setNamespace("secrets");
    world.settle();
    assertThat(world.pods).isZero();
    assertThat(world.said("root").reason()).isEqualTo(Reason.UNSUPPORTED.word());
    assertThat(cluster.objects.keySet())
        .containsExactly("DiskImport debian", "PersistentVolumeClaim root");
    assertThat(cluster.events).anyMatch(it -> it.startsWith("PersistentVolumeClaim Unsupported"));
  }

  @Test
  void aLateClassWaitsForTheScheduler() {
    cluster.volumeClass = new Storage.VolumeClass("fast", "csi.example", true);
    world.settle();
    assertThat(world.pods).isZero();
    assertThat(world.said("root").reason()).isEqualTo(Reason.WAITING_FOR_CONSUMER.word());
    var claim = Objects.requireNonNull(cluster.claim("root"));
    claim.getMetadata().setAnnotations(new HashMap<>());
    claim.getMetadata().getAnnotations().put("volume.kubernetes.io/selected-node", "node2");
    world.reconciler.reconcile(KEY);
    assertThat(cluster.all(PersistentVolumeClaim.class))
        .filteredOn(it -> it.getSpec().getDataSourceRef() == null)
        .singleElement()
        .satisfies(
            it ->
                assertThat(it.getMetadata().getAnnotations())
                    .containsEntry("volume.kubernetes.io/selected-node", "node2"));
    world.settle();
    filled();
  }

  @Test
  void aPodThatTakesADiskHasOneSecretAndWaitsForNobody() {
    var upload = new DiskUpload();
    upload.setMetadata(new ObjectMetaBuilder().withNamespace("shop").withName("sent").build());
    upload.setSpec(new DiskUpload.Spec(null, true));
    cluster.add(upload);
    var claim = claim("data");
    claim.getSpec().getDataSourceRef().setKind(DiskUpload.KIND);
    claim.getSpec().getDataSourceRef().setName("sent");
    cluster.add(claim);
    cluster.volumeClass = new Storage.VolumeClass("fast", "csi.example", true);
    for (var i = 0; i < 3; i++) {
      world.reconciler.reconcile("DiskUpload/shop/sent");
    }
    var secret = cluster.all(Secret.class);
    assertThat(secret).hasSize(1);
    assertThat(secret.getFirst().getData()).containsKeys("token", "tls.key", "tls.crt", "ca.crt");
    assertThat(FillingCluster.owners(secret.getFirst()))
        .containsExactly(cluster.all(Pod.class).getFirst().getMetadata().getUid());

    cluster.all(Pod.class).getFirst().getStatus().setPhase("Running");
    cluster.progress = Optional.of(new Populations.Progress(0, -1));
    world.reconciler.reconcile("DiskUpload/shop/sent");
    assertThat(upload.said().claims().getFirst().reason()).isEqualTo("WaitingForUpload");
    cluster.progress = Optional.of(new Populations.Progress(21, 50));
    world.reconciler.reconcile("DiskUpload/shop/sent");
    assertThat(upload.said().claims().getFirst().progress()).isEqualTo("42%");
  }

  @Test
  void whatWasBegunGoesWithItsSource() {
    world.ends = _ -> "Pending";
    world.settle();
    assertThat(cluster.objects).hasSize(5);
    cluster.objects.remove("DiskImport debian");
    world.settle();
    assertThat(cluster.objects.keySet()).containsExactly("PersistentVolumeClaim root");
    assertThat(cluster.events)
        .contains("PersistentVolumeClaim NotFound: There is no DiskImport debian.");
  }

  @Test
  void twoClaimsAreFilledFromOneAndAThirdLater() {
    cluster.add(claim("data"));
    world.settle();
    cluster.add(claim("more"));
    world.settle();
    assertThat(world.pods).isEqualTo(3);
    for (var name : List.of("data", "more", "root")) {
      assertThat(world.said(name).phase()).isEqualTo(FillPhase.FILLED);
    }
  }
}
