package dev.platter.cluster.controller;

import static org.assertj.core.api.Assertions.assertThat;

import dev.platter.cluster.api.DiskImport;
import dev.platter.cluster.api.FillPhase;
import dev.platter.cluster.api.Names;
import dev.platter.cluster.api.Reason;
import dev.platter.cluster.controller.Storage.SnapshotClass;
import dev.platter.cluster.controller.Storage.VolumeClass;
import io.fabric8.kubernetes.api.model.GenericKubernetesResource;
import io.fabric8.kubernetes.api.model.ObjectMetaBuilder;
import io.fabric8.kubernetes.api.model.PersistentVolumeClaim;
import io.fabric8.kubernetes.api.model.PersistentVolumeClaimBuilder;
import io.fabric8.kubernetes.api.model.Quantity;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Claims of one disk in a class that shares blocks: one of them is written, the others copied. */
class OriginalsTest {
  private static final String KEY = "DiskImport/shop/debian";
  private static final String NODE = "volume.kubernetes.io/selected-node";

  private FillingCluster world = new FillingCluster(KEY);
  private FakePopulations cluster = world.cluster;

  @BeforeEach
  void begin() {
    world = new FillingCluster(KEY);
    cluster = world.cluster;
    cluster.volumeClass = new VolumeClass("local", Names.VOLUME_DRIVER, true);
    cluster.snapshotClass = new SnapshotClass.Found("snaps");
    cluster.add(source(FillingCluster.DIGEST));
  }

  private static DiskImport source(@Nullable String digest) {
    var out = new DiskImport();
    out.setMetadata(new ObjectMetaBuilder().withNamespace("shop").withName("debian").build());
    var http = new DiskImport.Http("https://a.example/d.qcow2", null, null);
    out.setSpec(
        new DiskImport.Spec(new DiskImport.Source(null, http, null, null), digest, null, null));
    return out;
  }

  private static PersistentVolumeClaim claim(String name, String node, String mode, String size) {
    return new PersistentVolumeClaimBuilder()
        .withNewMetadata()
        .withName(name)
        .withNamespace("shop")
        .addToAnnotations(NODE, node)
        .endMetadata()
        .withNewSpec()
        .withStorageClassName("local")
        .withVolumeMode(mode)
        .withAccessModes("ReadWriteOnce")
        .withNewResources()
        .addToRequests("storage", new Quantity(size))
        .endResources()
        .withNewDataSourceRef(Names.GROUP, DiskImport.KIND, "debian", null)
        .endSpec()
        .build();
  }

  private void fill(String name, String node, String mode, String size) {
    cluster.add(claim(name, node, mode, size));
    world.settle();
  }

  private List<GenericKubernetesResource> snapshots() {
    return cluster.all(GenericKubernetesResource.class);
  }

  private void allFilled(String... names) {
    for (var name : names) {
      assertThat(world.said(name).phase()).as(name).isEqualTo(FillPhase.FILLED);
      assertThat(world.said(name).digest()).as(name).isEqualTo(FillingCluster.DIGEST);
    }
    // The object, and a claim with its volume for each; nothing is left of how they were made.
    assertThat(cluster.objects).hasSize(1 + 2 * names.length + snapshots().size());
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
      cluster.add(claim("root", "node1", "Block", "1Gi"));
      fill("data", "node1", "Block", "1Gi");
      fill("more", "node1", "Block", "1Gi");
      allFilled("data", "more", "root");
      assertThat(world.pods).as("killed at " + at).isEqualTo(1);
      assertThat(snapshots())
          .singleElement()
          .satisfies(
              it ->
                  assertThat(FillingCluster.owners(it))
                      .isEqualTo(
                          List.of(
                              cluster.all(DiskImport.class).getFirst().getMetadata().getUid())));

      List.of("data", "more", "root")
          .forEach(name -> cluster.objects.remove("PersistentVolumeClaim " + name));
      world.settle();
      assertThat(snapshots()).as("somebody may want it soon").hasSize(1);
      world.now = world.now.plus(FillingCluster.GRACE);
      world.settle();
      assertThat(cluster.objects.keySet()).containsExactly("DiskImport debian");
      if (moments[0] <= killedAt) {
        break;
      }
    }
    assertThat(killedAt).as("moments").isGreaterThan(40);
  }

  @ParameterizedTest
  @CsvSource({
    "node1, Block, 1Gi, 1", // The same.
    "node1, Block, 3Gi, 1", // A device can be larger than what it is made from,
    "node1, Block, 900Mi, 2", // but not smaller.
    "node2, Block, 1Gi, 2", // Blocks are shared on a node,
    "node1, Filesystem, 1Gi, 2" // and among volumes of one kind.
  })
  void aDeviceIsWrittenOrCopied(String node, String mode, String size, int written) {
    fill("root", "node1", "Block", "1Gi");
    fill("data", node, mode, size);
    allFilled("data", "root");
    assertThat(world.pods).isEqualTo(written);
    assertThat(snapshots()).hasSize(written);
  }

  /** There is a disk.img in it, which is as large as the claim lets it be. */
  @ParameterizedTest
  @CsvSource({"1Gi, 1", "1025Mi, 2"})
  void aFileSystemIsCopiedToOneOfTheSameSize(String size, int written) {
    fill("root", "node1", "Filesystem", "1Gi");
    fill("data", "node1", "Filesystem", size);
    allFilled("data", "root");
    assertThat(world.pods).isEqualTo(written);
  }

  @Test
  void aCopyIsMadeOnTheNodeOfTheSnapshotAndAsLargeAsTheDriverWantsIt() {
    fill("root", "node1", "Block", "1000000");
    snapshots()
        .getFirst()
        .setAdditionalProperty("status", Map.of("readyToUse", true, "restoreSize", "1Mi"));
    cluster.add(claim("data", "node1", "Block", "1000000"));
    world.reconciler.reconcile(KEY);
    assertThat(cluster.all(PersistentVolumeClaim.class))
        .filteredOn(it -> it.getSpec().getDataSource() != null)
        .singleElement()
        .satisfies(
            it -> {
              assertThat(it.getMetadata().getAnnotations()).containsEntry(NODE, "node1");
              assertThat(PrimeClaim.size(it)).isEqualTo(1 << 20);
              assertThat(it.getSpec().getDataSource().getName())
                  .isEqualTo(snapshots().getFirst().getMetadata().getName());
            });
  }

  @Test
  void whatIsNotTheSameEachTimeIsWrittenEachTime() {
    cluster.objects.clear();
    cluster.add(source(null));
    cluster.add(claim("root", "node1", "Block", "1Gi"));
    fill("data", "node1", "Block", "1Gi");
    assertThat(world.pods).isEqualTo(2);
    assertThat(snapshots()).isEmpty();
  }

  /**
   * Somebody else may have had the login, or the disk is another one: the digest alone is known.
   */
  @Test
  void aDiskOfAnotherObjectIsNotTakenWhateverItsDigest() {
    fill("root", "node1", "Block", "1Gi");
    snapshots().getFirst().getMetadata().getOwnerReferences().getFirst().setUid("uid-1");
    fill("data", "node1", "Block", "1Gi");
    allFilled("data", "root");
    assertThat(world.pods).isEqualTo(2);
  }

  @Test
  void anObjectThatWasChangedHasAnotherDisk() {
    fill("root", "node1", "Block", "1Gi");
    var old = snapshots().getFirst().getMetadata().getName();
    cluster.all(DiskImport.class).getFirst().getMetadata().setGeneration(2L);
    fill("data", "node1", "Block", "1Gi");
    allFilled("data", "root");
    assertThat(world.pods).isEqualTo(2);
    assertThat(snapshots())
        .singleElement()
        .satisfies(it -> assertThat(it.getMetadata().getName()).isNotEqualTo(old));
  }

  @Test
  void aSnapshotThatDoesNotComeKeepsNobodyFromItsDisk() {
    world.snapshots = false;
    fill("root", "node1", "Block", "1Gi");
    world.settle();
    allFilled("root");
    assertThat(snapshots()).isEmpty();
  }

  @Test
  void aSnapshotThatIsGoneIsMadeAnew() {
    fill("root", "node1", "Block", "1Gi");
    cluster.add(claim("data", "node1", "Block", "1Gi"));
    world.reconciler.reconcile(KEY);
    cluster.objects.remove("VolumeSnapshot " + snapshots().getFirst().getMetadata().getName());
    world.settle();
    allFilled("data", "root");
    assertThat(world.pods).isEqualTo(2);
    assertThat(snapshots()).hasSize(1);
  }

  @Test
  void aDriverThatHasNoRoomIsAskedAgainLater() {
    fill("root", "node1", "Block", "1Gi");
    cluster.add(claim("data", "node1", "Block", "1Gi"));
    world.reconciler.reconcile(KEY);
    var prime =
        cluster.all(PersistentVolumeClaim.class).stream()
            .filter(PrimeClaim::isCopy)
            .findFirst()
            .orElseThrow();
    prime.getMetadata().setAnnotations(new HashMap<>(prime.getMetadata().getAnnotations()));
    prime.getMetadata().getAnnotations().remove(NODE);
    cluster.complaint = "the pool is full";
    world.reconciler.reconcile(KEY);
    var said = world.said("data");
    assertThat(said.phase()).isEqualTo(FillPhase.RETRYING);
    assertThat(said.reason()).isEqualTo(Reason.PROVISIONING_FAILED.word());
    assertThat(said.message()).isEqualTo("the pool is full");
    world.reconciler.reconcile(KEY);
    assertThat(cluster.all(PersistentVolumeClaim.class)).hasSize(2);
    cluster.complaint = null;
    world.settle();
    allFilled("data", "root");
    assertThat(Objects.requireNonNull(world.said("data").attempts())).isEqualTo(1);
    assertThat(world.pods).isEqualTo(1);
  }
}
