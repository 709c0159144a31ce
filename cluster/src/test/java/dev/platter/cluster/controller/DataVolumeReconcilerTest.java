package dev.platter.cluster.controller;

import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;

import dev.platter.cluster.api.CdiNames;
import dev.platter.cluster.api.Condition;
import dev.platter.cluster.api.Conditions;
import dev.platter.cluster.api.DataVolume;
import dev.platter.cluster.api.DiskImport;
import dev.platter.cluster.api.DiskSource;
import dev.platter.cluster.api.DiskUpload;
import dev.platter.cluster.api.Names;
import dev.platter.node.x509.Authority;
import dev.platter.node.x509.Validity;
import io.fabric8.kubernetes.api.model.HasMetadata;
import io.fabric8.kubernetes.api.model.ObjectMetaBuilder;
import io.fabric8.kubernetes.api.model.PersistentVolumeClaim;
import io.fabric8.kubernetes.api.model.PersistentVolumeClaimBuilder;
import io.fabric8.kubernetes.api.model.Pod;
import io.fabric8.kubernetes.api.model.PodStatusBuilder;
import io.fabric8.kubernetes.api.model.Quantity;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** DataVolumes on a cluster in memory, where claims are filled as well. */
class DataVolumeReconcilerTest {
  private static final Authority AUTHORITY = Authority.make("ours", Validity.ALWAYS);
  private static final String STORAGE =
      "storage: {storageClassName: fast, resources: {requests: {storage: 10Gi}}}";
  private static final String UPLOAD = "{source: {upload: {}}, " + STORAGE + "}";
  private static final String IMPORT =
      "{source: {http: {url: \"https://a.example/x\"}}, " + STORAGE + "}";

  private FillingCluster world = new FillingCluster("");
  private FakePopulations cluster = world.cluster;
  private DataVolumeReconciler reconciler = reconciler();

  private DataVolumeReconciler reconciler() {
    var volumes =
        new DataVolumes() {
          @Override
          public @Nullable DataVolume volume(String key) {
            return (DataVolume) cluster.objects.get("DataVolume " + key.split("/")[1]);
          }

          @Override
          public void status(DataVolume volume, DataVolume.Status status) {
            cluster.moment.run();
            volume.setStatus(status);
            cluster.moment.run();
          }
        };
    return new DataVolumeReconciler(volumes, cluster, () -> world.now);
  }

  private DataVolume volume(String kind, String spec, String... annotations) {
    world = new FillingCluster(kind + "/shop/root");
    cluster = world.cluster;
    world.uploads = () -> AUTHORITY;
    world.reconciler = world.reconciler();
    reconciler = reconciler();
    var out = Objects.dataVolume(spec);
    var meta = new ObjectMetaBuilder(out.getMetadata());
    for (var i = 0; i < annotations.length; i += 2) {
      meta.addToAnnotations(annotations[i], annotations[i + 1]);
    }
    out.setMetadata(meta.addToLabels("tier", "gold").addToLabels(Names.FILLS, "x").build());
    cluster.add(out);
    return out;
  }

  private void look() {
    reconciler.reconcile("shop/root");
  }

  private PersistentVolumeClaim claim() {
    return requireNonNull(cluster.claim("shop/root"));
  }

  private static String phase(DataVolume volume) {
    return requireNonNull(volume.said().phase()).word();
  }

  private static Condition condition(DataVolume volume, String type) {
    return requireNonNull(Conditions.find(volume.said().conditions(), type));
  }

  /** Both reconcilers, and what else there is in a cluster. */
  private void settle() {
    for (var i = 0; i < 24; i++) {
      try {
        look();
        world.reconciler.reconcile(world.key);
      } catch (FillingCluster.Killed e) {
        world.reconciler = world.reconciler();
        reconciler = reconciler();
      }
      world.othersAct();
      world.now = world.now.plusSeconds(3);
    }
    look();
  }

  @Test
  void anUploadBecomesAClaimAndADiskUploadThatAreItsOwn() {
    var volume = volume("DiskUpload", UPLOAD);
    look();
    var from = claim().getSpec().getDataSourceRef();
    assertThat(from.getApiGroup() + " " + from.getKind() + " " + from.getName())
        .isEqualTo("platter.dev DiskUpload root");
    assertThat(claim().getMetadata().getAnnotations()).containsOnlyKeys(CdiNames.UPLOAD_TARGET);
    assertThat(claim().getMetadata().getLabels()).isEqualTo(Map.of("tier", "gold"));
    var upload = cluster.all(DiskUpload.class).getFirst();
    assertThat(upload.immediate()).isFalse();
    for (HasMetadata owned : new HasMetadata[] {claim(), upload}) {
      assertThat(Owned.by(volume, owned)).isTrue();
      assertThat(owned.getMetadata().getOwnerReferences().getFirst().getKind())
          .isEqualTo("DataVolume");
    }
    cluster.objects.remove("DataVolume root");
    world.othersAct();
    assertThat(cluster.objects).isEmpty();
  }

  @Test
  void whatVirtctlSendsAlongIsUnderstood() {
    volume("DiskUpload", UPLOAD, CdiNames.IMMEDIATE, "", CdiNames.USE_POPULATOR, "true");
    look();
    assertThat(cluster.all(DiskUpload.class).getFirst().immediate()).isTrue();
    assertThat(claim().getMetadata().getAnnotations())
        .containsEntry(CdiNames.POPULATED_CLAIM, "root");
  }

  @Test
  void thePhasesOfAnUploadAreThoseThatVirtctlWaitsFor() {
    var volume = volume("DiskUpload", UPLOAD);
    look();
    assertThat(phase(volume)).isEqualTo("Pending");
    world.reconciler.reconcile("DiskUpload/shop/root"); // The pod is made.
    look();
    assertThat(phase(volume)).isEqualTo("UploadScheduled");
    assertThat(condition(volume, "Running").holds()).isFalse();
    var pod = cluster.all(Pod.class).getFirst();
    pod.setStatus(
        new PodStatusBuilder()
            .withPhase("Running")
            .withPodIP("10.0.0.1")
            .addNewCondition()
            .withType("Ready")
            .withStatus("True")
            .endCondition()
            .build());
    world.othersAct();
    world.othersAct();
    world.reconciler.reconcile("DiskUpload/shop/root");
    look();
    assertThat(phase(volume)).isEqualTo("UploadReady");
    assertThat(condition(volume, "Running").holds()).isTrue();
    assertThat(condition(volume, "Bound").holds()).isFalse();
    assertThat(volume.said().progress()).isEqualTo("N/A");
    world.end(pod, "Succeeded");
    settle();
    assertThat(phase(volume)).isEqualTo("Succeeded");
    assertThat(volume.said().progress()).isEqualTo("100.0%");
    assertThat(volume.said().claimName()).isEqualTo("root");
    for (var type : new String[] {"Bound", "Ready"}) {
      assertThat(condition(volume, type).holds()).isTrue();
    }
    assertThat(condition(volume, "Running").holds()).isFalse();
    assertThat(claim().getMetadata().getAnnotations())
        .containsEntry(CdiNames.POD_PHASE, "Succeeded");
    assertThat(cluster.events).contains("DataVolume Filled: The disk is on the claim.");
  }

  @Test
  void anImportIsTriedAgainAndCountsItsFailures() {
    var volume = volume("DiskImport", IMPORT);
    world.ends = _ -> world.pods == 1 ? "Failed" : "Succeeded";
    look();
    for (var i = 0; i < 6; i++) {
      world.reconciler.reconcile("DiskImport/shop/root");
      world.othersAct();
    }
    look();
    assertThat(phase(volume)).isEqualTo("ImportScheduled");
    assertThat(volume.said().restartCount()).isEqualTo(1);
    assertThat(condition(volume, "Ready").message()).isEqualTo("it is no disk");
    assertThat(cluster.events).contains("DataVolume Refused: it is no disk");
    settle();
    assertThat(phase(volume)).isEqualTo("Succeeded");
    assertThat(PrimeClaim.isBound(claim())).isTrue();
  }

  @Test
  void howMuchOfAFileHasComeIsToldAsCdiTellsIt() {
    var volume = volume("DiskImport", IMPORT);
    look();
    world.reconciler.reconcile("DiskImport/shop/root");
    look();
    assertThat(phase(volume)).isEqualTo("ImportScheduled");
    var pod = cluster.all(Pod.class).getFirst();
    pod.setStatus(new PodStatusBuilder().withPhase("Running").withPodIP("10.0.0.1").build());
    world.othersAct();
    cluster.progress = Optional.of(new Populations.Progress(42, 100));
    world.reconciler.reconcile("DiskImport/shop/root");
    look();
    assertThat(phase(volume)).isEqualTo("ImportInProgress");
    assertThat(volume.said().progress()).isEqualTo("42.0%");
    assertThat(condition(volume, "Running").holds()).isTrue();
  }

  @Test
  void oneThatNoPodWantsWaitsForOne() {
    var volume = volume("DiskUpload", UPLOAD);
    cluster.volumeClass = new Storage.VolumeClass("fast", "csi.example", true);
    settle();
    assertThat(phase(volume)).isEqualTo("WaitForFirstConsumer");
    var blank = volume("", "{source: {blank: {}}, " + STORAGE + "}");
    cluster.volumeClass = new Storage.VolumeClass("fast", "csi.example", true);
    look();
    look();
    assertThat(phase(blank)).isEqualTo("WaitForFirstConsumer");
  }

  @Test
  void aBlankOneIsAClaimThatNamesNothing() {
    var volume = volume("", "{source: {blank: {}}, " + STORAGE + "}");
    look();
    assertThat(claim().getSpec().getDataSourceRef()).isNull();
    assertThat(cluster.all(DiskSource.class)).isEmpty();
    cluster.complaint = "there is no room";
    look();
    assertThat(phase(volume)).isEqualTo("Pending");
    assertThat(cluster.events).contains("DataVolume ProvisioningFailed: there is no room");
    world.othersAct();
    world.othersAct();
    look();
    assertThat(phase(volume)).isEqualTo("Succeeded");
  }

  @Test
  void aCopyIsMadeByTheDriverAndIsAsLargeAsWhatItCopies() {
    var spec = "{source: {pvc: {name: golden, namespace: shop}}, storage: {}}";
    var volume = volume("", spec);
    look();
    assertThat(cluster.events).contains("DataVolume NotFound: There is no claim golden.");
    cluster.add(
        new PersistentVolumeClaimBuilder()
            .withNewMetadata()
            .withName("golden")
            .withNamespace("shop")
            .endMetadata()
            .withNewSpec()
            .withStorageClassName("fast")
            .withNewResources()
            .addToRequests("storage", new Quantity("3Gi"))
            .endResources()
            .endSpec()
            .build());
    look();
    look();
    var made = claim().getSpec();
    assertThat(PrimeClaim.size(claim())).isEqualTo(3L << 30);
    assertThat(made.getStorageClassName()).isEqualTo("fast");
    assertThat(made.getDataSourceRef().getKind()).isEqualTo("PersistentVolumeClaim");
    assertThat(made.getDataSourceRef().getApiGroup()).isNull();
    assertThat(phase(volume)).isEqualTo("CSICloneInProgress");
    claim().getStatus().setPhase("Bound");
    look();
    assertThat(phase(volume)).isEqualTo("Succeeded");

    var restored = volume("", "{source: {snapshot: {name: monday}}, " + STORAGE + "}");
    look();
    look();
    assertThat(claim().getSpec().getDataSourceRef().getKind()).isEqualTo("VolumeSnapshot");
    assertThat(phase(restored)).isEqualTo("CloneFromSnapshotSourceInProgress");
  }

  @Test
  void whatIsNotItsOwnIsNotTouched() {
    var volume = volume("DiskImport", IMPORT);
    var theirs = new DiskImport();
    theirs.setMetadata(new ObjectMetaBuilder().withName("root").withNamespace("shop").build());
    cluster.add(theirs);
    look();
    assertThat(phase(volume)).isEqualTo("Pending");
    assertThat(condition(volume, "Ready").message()).startsWith("The DiskImport root is not");
    assertThat(cluster.all(PersistentVolumeClaim.class)).isEmpty();
    cluster.objects.remove("DiskImport root");
    cluster.add(
        new PersistentVolumeClaimBuilder()
            .withNewMetadata()
            .withName("root")
            .withNamespace("shop")
            .endMetadata()
            .withNewSpec()
            .endSpec()
            .build());
    look();
    assertThat(condition(volume, "Ready").message())
        .startsWith("The PersistentVolumeClaim root is not");
    assertThat(cluster.all(DiskImport.class)).isEmpty();
    cluster.objects.remove("PersistentVolumeClaim root");
    settle();
    assertThat(phase(volume)).isEqualTo("Succeeded");
  }

  @Test
  void whatTheServerDoesNotTakeIsToldAndTriedAgain() {
    var volume = volume("DiskUpload", UPLOAD);
    cluster.refused = object -> object instanceof PersistentVolumeClaim;
    look();
    assertThat(phase(volume)).isEqualTo("Pending");
    assertThat(cluster.events).contains("DataVolume ErrClaimNotValid: exceeded quota");
    cluster.refused = _ -> false;
    look();
    assertThat(claim()).isNotNull();
  }

  @Test
  void nothingIsMadeForOneThatGoes() {
    var volume = volume("DiskUpload", UPLOAD);
    volume.getMetadata().setDeletionTimestamp("2026-01-01T00:00:00Z");
    look();
    assertThat(cluster.objects).containsOnlyKeys("DataVolume root");
  }

  /** Before and after each change, of this reconciler or the other. */
  @Test
  void killedAtAnyMomentItEndsTheSame() {
    for (var moment = 0; ; moment++) {
      var volume = volume("DiskImport", IMPORT);
      var left = new int[] {moment};
      cluster.moment =
          () -> {
            if (left[0]-- == 0) {
              throw new FillingCluster.Killed();
            }
          };
      settle();
      assertThat(phase(volume)).as("killed at " + moment).isEqualTo("Succeeded");
      assertThat(cluster.all(PersistentVolumeClaim.class)).containsExactly(claim());
      assertThat(cluster.all(DiskSource.class)).hasSize(1);
      if (left[0] >= 0) {
        assertThat(moment).isGreaterThan(10);
        return;
      }
    }
  }
}
