package dev.platter.cluster.controller;

import static org.assertj.core.api.Assertions.assertThat;

import dev.platter.cluster.api.FillPhase;
import dev.platter.cluster.api.ImageStatus;
import dev.platter.cluster.api.Names;
import dev.platter.cluster.api.Reason;
import dev.platter.cluster.api.VmImage;
import dev.platter.cluster.controller.Storage.VolumeClass;
import io.fabric8.kubernetes.api.model.PersistentVolumeClaim;
import io.fabric8.kubernetes.api.model.PersistentVolumeClaimBuilder;
import io.fabric8.kubernetes.api.model.Pod;
import io.fabric8.kubernetes.api.model.Quantity;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Claims that name an image which is in their storage class. */
class ImageClaimTest {
  private static final String DIGEST = "sha256:" + "2".repeat(64);
  private static final ImageStatus READY =
      ImageStatus.NONE
          .withSize(1 << 30)
          .withFilledClaim("uid-of-another", "node2")
          .withReady(true, List.of(), 1L);

  private FillingCluster world = new FillingCluster("");
  private FakePopulations cluster = world.cluster;
  private VmImage image = new VmImage();

  @BeforeEach
  void begin() {
    world = new FillingCluster("VirtletVMImage/shop/debian");
    cluster = world.cluster;
    cluster.volumeClass = new VolumeClass("local", Names.VOLUME_DRIVER, true);
    image = VmImage.of("shop", "disks.example/debian@" + DIGEST, "local");
    image.getMetadata().setName("debian");
    image.setStatus(READY);
    cluster.add(image);
  }

  private static PersistentVolumeClaim claim(String mode, String size) {
    return new PersistentVolumeClaimBuilder()
        .withNewMetadata()
        .withName("root")
        .withNamespace("shop")
        .endMetadata()
        .withNewSpec()
        .withStorageClassName("local")
        .withVolumeMode(mode)
        .withAccessModes("ReadWriteOnce")
        .withNewResources()
        .addToRequests("storage", new Quantity(size))
        .endResources()
        .withNewDataSourceRef(Names.IDENTITY_GROUP, VmImage.KIND, "debian", null)
        .endSpec()
        .build();
  }

  @Test
  void aClaimIsMadeFromTheSnapshotOnItsNodeWithoutAPod() {
    cluster.add(claim("Block", "2Gi"));
    world.reconciler.reconcile("VirtletVMImage/shop/debian");
    assertThat(cluster.all(PersistentVolumeClaim.class))
        .filteredOn(PrimeClaim::isCopy)
        .singleElement()
        .satisfies(
            it -> {
              assertThat(PrimeClaim.selectedNode(it)).isEqualTo("node2");
              assertThat(it.getSpec().getDataSource().getKind()).isEqualTo("VolumeSnapshot");
              assertThat(it.getSpec().getDataSource().getName()).isEqualTo("debian");
              assertThat(PrimeClaim.size(it)).isEqualTo(2L << 30);
            });
    world.settle();
    assertThat(world.said("root").phase()).isEqualTo(FillPhase.FILLED);
    assertThat(world.said("root").digest()).isEqualTo(DIGEST);
    assertThat(cluster.all(Pod.class)).isEmpty();
    assertThat(cluster.all(PersistentVolumeClaim.class)).hasSize(1);
    assertThat(image.getStatus())
        .as("all but the claims is said by who imports")
        .isEqualTo(READY.withClaims(image.getStatus().claims()));
    cluster.objects.remove("PersistentVolumeClaim root");
    world.settle();
    assertThat(image.getStatus()).isEqualTo(READY);
  }

  @ParameterizedTest
  @CsvSource({
    "Block, 1023Mi, Invalid, too small",
    "Filesystem, 1Gi, Unsupported, volumeMode: Block",
  })
  void whatCannotBeIsSaid(String mode, String size, String reason, String message) {
    cluster.add(claim(mode, size));
    world.settle();
    assertThat(world.said("root").reason()).isEqualTo(reason);
    assertThat(world.said("root").message()).contains(message);
    assertThat(cluster.all(PersistentVolumeClaim.class)).hasSize(1);
  }

  @Test
  void anImageThatIsNotThereYetIsWaitedFor() {
    image.setStatus(ImageStatus.NONE);
    cluster.add(claim("Block", "1Gi"));
    world.settle();
    assertThat(world.said("root").reason()).isEqualTo(Reason.WAITING_FOR_IMAGE.word());
    image.setStatus(READY.withClaims(image.getStatus().claims()));
    world.settle();
    assertThat(world.said("root").phase()).isEqualTo(FillPhase.FILLED);
  }

  /** One that Platter made goes when nobody wants it; one that somebody named is theirs. */
  @ParameterizedTest
  @CsvSource({"debian, false, true", "'', true, true", "'', false, false"})
  void anImageStaysForItsClaimsAndForWhoMadeIt(String name, boolean claimed, boolean stays) {
    var storage = new FakeStorage();
    var kept = VmImage.of("shop", "disks.example/debian@" + DIGEST, "fast");
    if (!name.isEmpty()) {
      kept.getMetadata().setName(name);
    }
    storage.create(kept);
    if (claimed) {
      cluster.add(claim("Block", "1Gi"));
      world.settle();
      kept.setStatus(ImageStatus.NONE.withClaims(image.getStatus().claims()));
    }
    var now = new Instant[] {Instant.EPOCH};
    var reconciler = new ImageReconciler(storage, Duration.ofMinutes(10), () -> now[0]);
    for (var i = 0; i < 3; i++) {
      reconciler.reconcile("shop/" + kept.getMetadata().getName());
      now[0] = now[0].plus(Duration.ofMinutes(6));
    }
    assertThat(storage.objects.containsValue(kept)).isEqualTo(stays);
  }
}
