package dev.platter.cluster.controller;

import static org.assertj.core.api.Assertions.assertThat;

import dev.platter.cluster.api.DiskImport;
import dev.platter.cluster.api.FillPhase;
import dev.platter.cluster.api.Names;
import dev.platter.cluster.api.Reason;
import dev.platter.cluster.controller.Storage.SnapshotClass;
import dev.platter.cluster.controller.Storage.VolumeClass;
import io.fabric8.kubernetes.api.model.ObjectMetaBuilder;
import io.fabric8.kubernetes.api.model.PersistentVolumeClaim;
import io.fabric8.kubernetes.api.model.PersistentVolumeClaimBuilder;
import io.fabric8.kubernetes.api.model.Pod;
import io.fabric8.kubernetes.api.model.PodBuilder;
import io.fabric8.kubernetes.api.model.Quantity;
import java.util.ArrayList;
import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Claims of VMs whose volume begins as an image: bound before the node has all of it. */
class DrawingTest {
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
    add("registry.example/disks/debian:12", FillingCluster.DIGEST, null, null);
  }

  private void add(
      String image, @Nullable String digest, @Nullable String ca, @Nullable String format) {
    var out = new DiskImport();
    out.setMetadata(new ObjectMetaBuilder().withNamespace("shop").withName("debian").build());
    var registry =
        new DiskImport.Registry(
            image, new DiskImport.Named("login"), ca == null ? null : new DiskImport.Named(ca));
    out.setSpec(
        new DiskImport.Spec(
            new DiskImport.Source(registry, null, null, null), digest, format, null));
    cluster.add(out);
  }

  private void claim(String name, String mode, String access) {
    cluster.add(
        new PersistentVolumeClaimBuilder()
            .withNewMetadata()
            .withName(name)
            .withNamespace("shop")
            .addToAnnotations(NODE, "node1")
            .endMetadata()
            .withNewSpec()
            .withStorageClassName("local")
            .withVolumeMode(mode)
            .withAccessModes(access)
            .withNewResources()
            .addToRequests("storage", new Quantity("1Gi"))
            .endResources()
            .withNewDataSourceRef(Names.GROUP, DiskImport.KIND, "debian", null)
            .endSpec()
            .build());
  }

  private void user(String claim, boolean launcher) {
    var pod =
        new PodBuilder()
            .withNewMetadata()
            .withName("of-" + claim)
            .withNamespace("shop")
            .endMetadata()
            .withNewSpec()
            .addNewVolume()
            .withName("root")
            .withNewPersistentVolumeClaim(claim, false)
            .endVolume()
            .endSpec()
            .withNewStatus()
            .endStatus()
            .build();
    if (launcher) {
      pod.getMetadata().setLabels(Map.of(Names.LAUNCHER, "true"));
    }
    cluster.add(pod);
  }

  private void vmWith(String claim) {
    claim(claim, "Block", "ReadWriteOnce");
    user(claim, true);
  }

  private @Nullable Pod filler() {
    return cluster.all(Pod.class).stream()
        .filter(pod -> pod.getMetadata().getName().startsWith(Names.FILLS_PREFIX))
        .findFirst()
        .orElse(null);
  }

  private PersistentVolumeClaim named(String name) {
    return Objects.requireNonNull(cluster.claim(name));
  }

  private void isBoundToADrawnVolume(String name) {
    assertThat(PrimeClaim.isBound(named(name))).isTrue();
    assertThat(world.drawn).contains(named(name).getSpec().getVolumeName());
  }

  @Test
  void aClaimOfAVmIsBoundWhileTheNodeFetchesTheImage() {
    world.ends = _ -> "Running";
    vmWith("root");
    world.settle();
    isBoundToADrawnVolume("root");
    assertThat(world.said("root").phase()).isEqualTo(FillPhase.FILLING);
    assertThat(world.said("root").reason()).isEqualTo(Reason.DRAWING.word());
    assertThat(world.said("root").progress()).isNull();
    var pod = Objects.requireNonNull(filler());
    assertThat(pod.getSpec().getContainers().getFirst().getImage())
        .isEqualTo("virtlet.cloud/registry.example/disks/debian@" + FillingCluster.DIGEST);
    assertThat(pod.getSpec().getImagePullSecrets())
        .extracting(secret -> secret.getName())
        .containsExactly("login");
    assertThat(pod.getSpec().getVolumes()).as("it has no device").isEmpty();
    assertThat(pod.getSpec().getAffinity().toString()).contains("metadata.name", "node1");

    world.ends = _ -> "Succeeded";
    world.settle();
    assertThat(world.said("root").phase()).isEqualTo(FillPhase.FILLED);
    assertThat(world.said("root").digest()).isEqualTo(FillingCluster.DIGEST);
    assertThat(filler()).isNull();
  }

  @Test
  void theControllerIsKilledBeforeAndAfterEachOfItsChanges() {
    var killedAt = 0;
    for (; ; killedAt++) {
      begin();
      var moments = new int[1];
      var at = killedAt;
      var early = new ArrayList<String>();
      cluster.moment =
          () -> {
            for (var claim : cluster.all(PersistentVolumeClaim.class)) {
              var volume = claim.getSpec().getVolumeName();
              if (claim.getSpec().getDataSourceRef() != null
                  && volume != null
                  && !world.drawn.contains(volume)) {
                early.add(volume);
              }
            }
            if (moments[0]++ == at) {
              throw new FillingCluster.Killed();
            }
          };
      world.ends = _ -> "Running";
      vmWith("root");
      world.settle();
      isBoundToADrawnVolume("root");
      world.ends = _ -> "Succeeded";
      world.settle();
      assertThat(world.said("root").phase()).as("killed at " + at).isEqualTo(FillPhase.FILLED);
      assertThat(early).as("bound before they began as the image").isEmpty();
      // The object, the VM's pod, the claim and its volume.
      assertThat(cluster.objects).hasSize(4);
      if (moments[0] <= killedAt) {
        break;
      }
    }
    assertThat(killedAt).as("moments").isGreaterThan(8);
  }

  @Test
  void aPodThatIsLostWhileTheImageIsFetchedComesAnewAndTheVolumeStays() {
    world.ends = _ -> "Running";
    vmWith("root");
    world.settle();
    var volume = named("root").getSpec().getVolumeName();
    cluster.objects.remove(FakePopulations.key(Objects.requireNonNull(filler())));
    world.settle();
    var pod = Objects.requireNonNull(filler());
    assertThat(pod.getMetadata().getAnnotations()).containsEntry(Names.FILL, Names.FILL_STAY);
    world.end(pod, "Failed");
    world.settle();
    assertThat(Objects.requireNonNull(filler()).getMetadata().getUid())
        .isNotEqualTo(pod.getMetadata().getUid());
    assertThat(named("root").getSpec().getVolumeName()).isEqualTo(volume);
    world.ends = _ -> "Succeeded";
    world.settle();
    assertThat(world.said("root").phase()).isEqualTo(FillPhase.FILLED);
    assertThat(filler()).isNull();
  }

  @Test
  void theObjectCanGoWhileTheImageIsFetched() {
    world.ends = _ -> "Running";
    vmWith("root");
    world.settle();
    cluster.objects.remove("DiskImport debian");
    world.settle();
    isBoundToADrawnVolume("root");
    assertThat(filler()).as("which has the login").isNotNull();
  }

  /** As the provisioner does where a node is full: then it is for the scheduler, or for later. */
  @Test
  void aNodeWithoutRoomIsToldAndTriedNoMore() {
    world.ends = _ -> "Running";
    vmWith("root");
    world.full.add("node1");
    world.reconciler.reconcile(KEY);
    world.othersAct();
    world.reconciler.reconcile(KEY);
    assertThat(world.said("root").phase()).isEqualTo(FillPhase.RETRYING);
    assertThat(world.said("root").reason()).isEqualTo(Reason.PROVISIONING_FAILED.word());
    world.full.clear();
    world.ends = _ -> "Succeeded";
    world.settle();
    world.settle();
    assertThat(world.said("root").phase()).isEqualTo(FillPhase.FILLED);
    assertThat(world.drawn).isEmpty();
  }

  @Test
  void thePodThatComesAnewHasTheImageThatTheVolumeBeganAs() {
    world.ends = _ -> "Running";
    vmWith("root");
    world.settle();
    var digest = "sha256:" + "2".repeat(64);
    var disk = cluster.all(DiskImport.class).getFirst();
    disk.setSpec(new DiskImport.Spec(disk.getSpec().source(), digest, null, null));
    cluster.objects.remove(FakePopulations.key(Objects.requireNonNull(filler())));
    world.settle();
    assertThat(Objects.requireNonNull(filler()).getSpec().getContainers().getFirst().getImage())
        .isEqualTo("virtlet.cloud/registry.example/disks/debian@" + FillingCluster.DIGEST);
  }

  @Test
  void whatANodeCannotFetchIsWrittenByAPod() {
    world.ends = pod -> DrawPod.is(pod) ? "Failed" : "Succeeded";
    vmWith("root");
    world.settle();
    world.settle();
    assertThat(world.said("root").phase()).isEqualTo(FillPhase.FILLED);
    assertThat(world.drawn).doesNotContain(named("root").getSpec().getVolumeName());
  }

  @ParameterizedTest
  @CsvSource({
    "true, Block, ReadWriteOnce, , , true",
    "false, Block, ReadWriteOnce, , , false", // A container has to wait for all of it anyway.
    ", Block, ReadWriteOnce, , , false", // And so may a pod that nobody knows yet.
    "true, Filesystem, ReadWriteOnce, , , false",
    "true, Block, ReadOnlyMany, , , false",
    "true, Block, ReadWriteOnce, authority, , false", // A node trusts whom its owner trusts.
    "true, Block, ReadWriteOnce, , raw, false",
  })
  void onlyADeviceOfVmsBeginsAsAnImage(
      @Nullable Boolean launcher,
      String mode,
      String access,
      @Nullable String ca,
      @Nullable String format,
      boolean drawn) {
    cluster.objects.clear();
    add("registry.example/disks/debian", FillingCluster.DIGEST, ca, format);
    claim("root", mode, access);
    if (launcher != null) {
      user("root", launcher);
    }
    world.settle();
    assertThat(world.said("root").phase()).isEqualTo(FillPhase.FILLED);
    assertThat(world.drawn.contains(named("root").getSpec().getVolumeName())).isEqualTo(drawn);
  }

  @Test
  void whereADiskIsOnTheNodeAlreadyItIsCopied() {
    claim("first", "Block", "ReadWriteOnce");
    world.settle();
    assertThat(world.said("first").phase()).isEqualTo(FillPhase.FILLED);
    vmWith("root");
    world.settle();
    assertThat(world.said("root").phase()).isEqualTo(FillPhase.FILLED);
    assertThat(world.drawn).isEmpty();
  }
}
