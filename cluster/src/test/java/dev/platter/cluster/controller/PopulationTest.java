package dev.platter.cluster.controller;

import static org.assertj.core.api.Assertions.assertThat;

import dev.platter.cluster.api.DiskImport;
import dev.platter.cluster.api.DiskUpload;
import dev.platter.cluster.api.FillPhase;
import dev.platter.cluster.api.FillResult;
import dev.platter.cluster.api.FilledClaim;
import dev.platter.cluster.api.Names;
import dev.platter.cluster.api.Reason;
import io.fabric8.kubernetes.api.model.HasMetadata;
import io.fabric8.kubernetes.api.model.ObjectMetaBuilder;
import io.fabric8.kubernetes.api.model.OwnerReference;
import io.fabric8.kubernetes.api.model.PersistentVolume;
import io.fabric8.kubernetes.api.model.PersistentVolumeBuilder;
import io.fabric8.kubernetes.api.model.PersistentVolumeClaim;
import io.fabric8.kubernetes.api.model.PersistentVolumeClaimBuilder;
import io.fabric8.kubernetes.api.model.PersistentVolumeStatusBuilder;
import io.fabric8.kubernetes.api.model.Pod;
import io.fabric8.kubernetes.api.model.PodStatusBuilder;
import io.fabric8.kubernetes.api.model.Quantity;
import io.fabric8.kubernetes.api.model.Secret;
import java.time.Duration;
import java.time.Instant;
import java.util.HashMap;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.function.Function;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Claims are filled on a cluster in memory, where kubelet, scheduler, driver, binder and garbage
 * collector are this test.
 */
class PopulationTest {
  private static final String KEY = "DiskImport/shop/debian";
  private static final String DIGEST = "sha256:" + "1".repeat(64);
  private static final int LOOKS = 24;

  private FakePopulations cluster = new FakePopulations();
  private Instant now = Instant.EPOCH;
  private PopulateReconciler reconciler = reconciler();
  private Function<Pod, String> ends = _ -> "Succeeded";
  private int pods;

  private static final class Killed extends Error {
    private static final long serialVersionUID = 1;
  }

  private PopulateReconciler reconciler() {
    var program = new FillPod.Program("platter:1", "Never", "");
    return new PopulateReconciler(
        cluster, new Population(cluster, () -> program, () -> now), () -> now);
  }

  @BeforeEach
  void begin() {
    cluster = new FakePopulations();
    now = Instant.parse("2026-01-01T00:00:00Z");
    reconciler = reconciler();
    ends = _ -> "Succeeded";
    pods = 0;
    cluster.add(source());
    cluster.add(claim("root"));
  }

  private static DiskImport source() {
    var out = new DiskImport();
    out.setMetadata(new ObjectMetaBuilder().withNamespace("shop").withName("debian").build());
    out.setSpec(
        new DiskImport.Spec(
            new DiskImport.Source(
                null, new DiskImport.Http("https://a.example/d.qcow2", null, null), null),
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

  private FilledClaim said(String claim) {
    return cluster.all(DiskImport.class).getFirst().said().claims().stream()
        .filter(it -> it.name().equals(claim))
        .findFirst()
        .orElseThrow();
  }

  private void settle() {
    for (var i = 0; i < LOOKS; i++) {
      try {
        reconciler.reconcile(KEY);
      } catch (Killed e) {
        reconciler = reconciler();
      }
      othersAct();
      now = now.plusSeconds(3);
    }
  }

  private void othersAct() {
    for (var claim : cluster.all(PersistentVolumeClaim.class)) {
      var owned =
          cluster.all(PersistentVolume.class).stream()
              .filter(
                  it -> claim.getMetadata().getUid().equals(it.getSpec().getClaimRef().getUid()))
              .findFirst();
      if (owned.isPresent()) {
        claim.getSpec().setVolumeName(owned.get().getMetadata().getName());
        claim.getStatus().setPhase("Bound");
      } else if (claim.getSpec().getDataSourceRef() == null
          && claim.getSpec().getVolumeName() == null) {
        var volume =
            new PersistentVolumeBuilder()
                .withNewMetadata()
                .withName("pv-of-" + claim.getMetadata().getUid())
                .endMetadata()
                .withNewSpec()
                .endSpec()
                .build();
        cluster.add(volume);
        FakePopulations.own(volume, claim);
      }
    }
    for (var pod : cluster.all(Pod.class)) {
      var claim = pod.getSpec().getVolumes().getLast().getPersistentVolumeClaim().getClaimName();
      var prime = cluster.claim(claim);
      if (prime == null || !PrimeClaim.isBound(prime)) {
        continue;
      }
      if (pod.getStatus().getPhase().equals("Pending")) {
        pods++;
        end(pod, ends.apply(pod));
      }
    }
    // The garbage collector, and the driver whose claim is gone.
    var uids = cluster.objects.values().stream().map(it -> it.getMetadata().getUid()).toList();
    cluster.objects.values().removeIf(it -> !uids.containsAll(owners(it)));
    cluster
        .objects
        .values()
        .removeIf(
            it ->
                it instanceof PersistentVolume volume
                    && !uids.contains(volume.getSpec().getClaimRef().getUid()));
  }

  private void end(Pod pod, String phase) {
    if (phase.equals("lost")) {
      cluster.objects.remove(FakePopulations.key(pod));
      return;
    }
    var result =
        phase.equals("Failed")
            ? new FillResult(null, "Refused", "it is no disk")
            : new FillResult(DIGEST, "Filled", "");
    pod.setStatus(
        new PodStatusBuilder()
            .withPhase(phase)
            .addNewContainerStatus()
            .withNewState()
            .withNewTerminated()
            .withMessage(result.text())
            .endTerminated()
            .endState()
            .endContainerStatus()
            .build());
  }

  private static List<String> owners(HasMetadata object) {
    return Stream.ofNullable(object.getMetadata().getOwnerReferences())
        .flatMap(List::stream)
        .map(OwnerReference::getUid)
        .toList();
  }

  private void filled() {
    assertThat(cluster.objects.keySet())
        .hasSize(3)
        .contains("DiskImport debian", "PersistentVolumeClaim root");
    var said = said("root");
    assertThat(said.phase()).isEqualTo(FillPhase.FILLED);
    assertThat(said.digest()).isEqualTo(DIGEST);
    assertThat(said.progress()).isEqualTo("100%");
    assertThat(cluster.all(DiskImport.class).getFirst().said().conditions())
        .singleElement()
        .satisfies(ready -> assertThat(ready.holds()).isTrue());
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
              throw new Killed();
            }
          };
      settle();
      filled();
      cluster.objects.remove("PersistentVolumeClaim root");
      settle();
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
    ends = _ -> pods == 1 ? accident : "Succeeded";
    settle();
    filled();
    assertThat(pods).isEqualTo(2);
    assertThat(said("root").attempts()).isEqualTo(accident.equals("Failed") ? 1 : null);
    if (accident.equals("Failed")) {
      assertThat(cluster.events).contains("PersistentVolumeClaim FillFailed: it is no disk");
    }
  }

  @Test
  void attemptsComeLaterEachTimeUntilItsSourceIsChanged() {
    ends = _ -> "Failed";
    settle();
    var said = said("root");
    assertThat(said.phase()).isEqualTo(FillPhase.RETRYING);
    assertThat(said.reason()).isEqualTo("Refused");
    assertThat(pods).isBetween(3, 4); // In 72 s: after 5, 10, 20 and 40.
    var before = pods;
    now = Instant.parse(Objects.requireNonNull(said.retryAt())).minus(Duration.ofSeconds(1));
    reconciler.reconcile(KEY);
    othersAct();
    assertThat(pods).isEqualTo(before);

    ends = _ -> "Succeeded";
    cluster.all(DiskImport.class).getFirst().getMetadata().setGeneration(2L);
    settle();
    filled();
  }

  @ParameterizedTest
  @ValueSource(strings = {"Pod", "PersistentVolumeClaim"})
  void whatIsRefusedIsTriedLaterEachTimeAndTakesNoVolume(String kind) {
    cluster.refused = object -> object.getKind().equals(kind);
    settle();
    var said = said("root");
    assertThat(said.phase()).isEqualTo(FillPhase.RETRYING);
    assertThat(said.message()).isEqualTo("exceeded quota");
    assertThat(said.attempts()).isBetween(3, 5); // In 72 s: after 5, 10, 20 and 40.
    assertThat(cluster.all(PersistentVolume.class)).isEmpty();
    assertThat(cluster.events).contains("PersistentVolumeClaim FillFailed: exceeded quota");
    cluster.refused = _ -> false;
    settle();
    filled();
  }

  @Test
  void aClaimWhoseVolumeIsGoneIsNotFilledAgain() {
    settle();
    filled();
    cluster.objects.keySet().removeIf(key -> key.startsWith("PersistentVolume "));
    Objects.requireNonNull(cluster.claim("root")).getStatus().setPhase("Lost");
    settle();
    assertThat(pods).isEqualTo(1);
    assertThat(said("root").reason()).isEqualTo(Reason.DISK_LOST.word());
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
    othersAct();
    settle();
    assertThat(pods).isZero();
    assertThat(said("root").phase()).isEqualTo(FillPhase.WAITING);
    assertThat(said("root").reason()).isEqualTo(Reason.BOUND_ELSEWHERE.word());
    assertThat(cluster.events)
        .anyMatch(it -> it.startsWith("PersistentVolumeClaim BoundElsewhere"));
  }

  /** An informer may still have a pod that is gone. */
  @Test
  void aPodOfAnotherAttemptSaysNothingOfThisOnesVolume() {
    ends = _ -> "Pending";
    settle();
    var prime = cluster.all(PersistentVolumeClaim.class).getFirst();
    prime.getMetadata().getAnnotations().put(Names.FILLED_BY, "another");
    end(cluster.all(Pod.class).getFirst(), "Succeeded");
    reconciler.reconcile(KEY);
    assertThat(cluster.all(PersistentVolume.class))
        .singleElement()
        .satisfies(
            it ->
                assertThat(it.getSpec().getClaimRef().getUid())
                    .isEqualTo(prime.getMetadata().getUid()));
    ends = _ -> "Succeeded";
    settle();
    filled();
  }

  @ParameterizedTest
  @ValueSource(strings = {"Released", "Failed"})
  void aVolumeThatSomebodyMayBeDeletingIsNobodys(String phase) {
    ends =
        _ -> {
          if (pods == 1) {
            cluster
                .all(PersistentVolume.class)
                .getFirst()
                .setStatus(new PersistentVolumeStatusBuilder().withPhase(phase).build());
          }
          return "Succeeded";
        };
    settle();
    filled();
    assertThat(pods).isEqualTo(2);
  }

  /** Where the server does not drop it: nobody has asked whether the user may use what is there. */
  @Test
  void whatIsInAnotherNamespaceFillsNothing() {
    var claim = Objects.requireNonNull(cluster.claim("root"));
    claim.getSpec().getDataSourceRef().setNamespace("secrets");
    settle();
    assertThat(pods).isZero();
    assertThat(said("root").reason()).isEqualTo(Reason.UNSUPPORTED.word());
    assertThat(cluster.objects.keySet())
        .containsExactly("DiskImport debian", "PersistentVolumeClaim root");
    assertThat(cluster.events).anyMatch(it -> it.startsWith("PersistentVolumeClaim Unsupported"));
  }

  @Test
  void aLateClassWaitsForTheScheduler() {
    cluster.waits = Optional.of(true);
    settle();
    assertThat(pods).isZero();
    assertThat(said("root").reason()).isEqualTo(Reason.WAITING_FOR_CONSUMER.word());
    var claim = Objects.requireNonNull(cluster.claim("root"));
    claim.getMetadata().setAnnotations(new HashMap<>());
    claim.getMetadata().getAnnotations().put("volume.kubernetes.io/selected-node", "node2");
    reconciler.reconcile(KEY);
    assertThat(cluster.all(PersistentVolumeClaim.class))
        .filteredOn(it -> it.getSpec().getDataSourceRef() == null)
        .singleElement()
        .satisfies(
            it ->
                assertThat(it.getMetadata().getAnnotations())
                    .containsEntry("volume.kubernetes.io/selected-node", "node2"));
    settle();
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
    cluster.waits = Optional.of(true);
    for (var i = 0; i < 3; i++) {
      reconciler.reconcile("DiskUpload/shop/sent");
    }
    var secret = cluster.all(Secret.class);
    assertThat(secret).hasSize(1);
    assertThat(secret.getFirst().getData()).containsKeys("token", "tls.key", "tls.crt", "ca.crt");
    assertThat(owners(secret.getFirst()))
        .containsExactly(cluster.all(Pod.class).getFirst().getMetadata().getUid());

    cluster.all(Pod.class).getFirst().getStatus().setPhase("Running");
    cluster.progress = Optional.of(new Populations.Progress(0, -1));
    reconciler.reconcile("DiskUpload/shop/sent");
    assertThat(upload.said().claims().getFirst().reason()).isEqualTo("WaitingForUpload");
    cluster.progress = Optional.of(new Populations.Progress(21, 50));
    reconciler.reconcile("DiskUpload/shop/sent");
    assertThat(upload.said().claims().getFirst().progress()).isEqualTo("42%");
  }

  @Test
  void whatWasBegunGoesWithItsSource() {
    ends = _ -> "Pending";
    settle();
    assertThat(cluster.objects).hasSize(5);
    cluster.objects.remove("DiskImport debian");
    settle();
    assertThat(cluster.objects.keySet()).containsExactly("PersistentVolumeClaim root");
    assertThat(cluster.events)
        .contains("PersistentVolumeClaim NotFound: There is no DiskImport debian.");
  }

  @Test
  void twoClaimsAreFilledFromOneAndAThirdLater() {
    cluster.add(claim("data"));
    settle();
    cluster.add(claim("more"));
    settle();
    assertThat(pods).isEqualTo(3);
    for (var name : List.of("data", "more", "root")) {
      assertThat(said(name).phase()).isEqualTo(FillPhase.FILLED);
    }
  }
}
