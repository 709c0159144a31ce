package dev.platter.cluster.controller;

import static dev.platter.cluster.controller.FakeStorage.NAMESPACE;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import dev.platter.cluster.api.Condition;
import dev.platter.cluster.api.Conditions;
import dev.platter.cluster.api.ImageStatus;
import dev.platter.cluster.api.Names;
import dev.platter.cluster.api.VmIdentity;
import dev.platter.cluster.api.VmImage;
import io.fabric8.kubernetes.api.model.GenericKubernetesResource;
import io.fabric8.kubernetes.api.model.GenericKubernetesResourceBuilder;
import io.fabric8.kubernetes.api.model.ObjectMetaBuilder;
import io.fabric8.kubernetes.api.model.PersistentVolumeClaimBuilder;
import io.fabric8.kubernetes.api.model.storage.StorageClass;
import io.fabric8.kubernetes.api.model.storage.StorageClassBuilder;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** Identities of volumes and their images, on a cluster in memory. */
class VolumeIdentitiesTest {
  private static final String DIGEST = "sha256:" + "1".repeat(64);
  private static final String IMAGE = "disks.example/db@" + DIGEST;
  private static final String NAME = VmImage.name(IMAGE, "fast");
  private static final Duration GRACE = Duration.ofMinutes(10);
  private static final long SIZE = 256L << 20;

  private final FakeStorage storage = new FakeStorage();
  private Instant now = Instant.parse("2026-01-01T00:00:00Z");
  private final VolumeIdentities identities = new VolumeIdentities(storage, () -> now);
  private final ImageReconciler images = new ImageReconciler(storage, GRACE, () -> now);

  private VmIdentity identity(String name, @Nullable String size) {
    var out = new VmIdentity();
    out.setMetadata(
        new ObjectMetaBuilder()
            .withNamespace(NAMESPACE)
            .withName(name)
            .withUid("uid-of-" + name)
            .withFinalizers(Names.DISK_FINALIZER)
            .build());
    var spec =
        JsonNodeFactory.instance
            .objectNode()
            .put("image", IMAGE)
            .put("type", "PersistentVolume")
            .put("storageClassName", "fast");
    out.setSpec(size == null ? spec : spec.put("size", size));
    storage.objects.put(FakeStorage.key(out), out);
    return out;
  }

  private VmImage image() {
    return Objects.requireNonNull(storage.image(NAMESPACE + "/" + NAME));
  }

  private void look() {
    images.reconcile(NAMESPACE + "/" + NAME);
  }

  private static String said(List<Condition> conditions) {
    var ready = Objects.requireNonNull(Conditions.find(conditions, Condition.READY));
    return ready.reason() + ": " + ready.message();
  }

  private static String said(VmIdentity identity) {
    return said(identity.getStatus().conditions());
  }

  private String imageSays() {
    return said(image().getStatus().conditions());
  }

  /** Up to the snapshot, as a cluster would do its part. */
  private void imported() {
    look();
    storage.pod(NAME + "-size", "Succeeded", Names.IMAGE_SIZE, "Ready", Long.toString(SIZE));
    look();
    look();
    storage.bind(NAME, "256Mi");
    look();
    storage.pod(NAME + "-fill", "Succeeded", Names.RUNNING_GATE, "Importing", "");
    look();
    look();
    look();
    storage.snapshots.computeIfPresent(
        NAME, (_, it) -> new Storage.Snapshot(it.owner(), true, SIZE, null));
    look();
    storage.changes();
  }

  @Test
  void anImageIsImportedOnceAndEachIdentityGetsAClaimOfItsSnapshot() {
    var first = identity("db-0", null);
    var second = identity("db-1", "1Gi");
    identities.reconcile(first);
    identities.reconcile(second);
    assertThat(storage.changes()).containsExactly("+VirtletVMImage " + NAME);

    look();
    assertThat(storage.changes()).containsExactly("+Pod " + NAME + "-size");
    storage.pod(NAME + "-size", "Succeeded", Names.IMAGE_SIZE, "Ready", Long.toString(SIZE));
    look();
    look();
    assertThat(storage.changes())
        .containsExactly("-Pod " + NAME + "-size", "+PersistentVolumeClaim " + NAME);
    look();
    assertThat(storage.changes()).containsExactly("+Pod " + NAME + "-fill");
    storage.bind(NAME, "256Mi");
    storage.pod(NAME + "-fill", "Running", Names.RUNNING_GATE, "Importing", "7 MiB are written.");
    look();
    assertThat(imageSays()).isEqualTo("Importing: 7 MiB are written.");
    storage.asked = 0;
    identities.reconcile(first);
    assertThat(said(first)).startsWith("WaitingForImage: ").contains(NAME);
    assertThat(storage.asked).as("questions of one of many that wait").isZero();
    assertThat(storage.changes()).isEmpty();

    storage.pod(NAME + "-fill", "Succeeded", Names.RUNNING_GATE, "Importing", "");
    look();
    assertThat(storage.changes()).isEmpty();
    look();
    assertThat(storage.changes()).containsExactly("-Pod " + NAME + "-fill");
    look();
    assertThat(storage.changes()).containsExactly("+snapshot of " + NAME + " by snaps");
    look();
    assertThat(storage.changes()).isEmpty();
    storage.snapshots.computeIfPresent(
        NAME, (_, it) -> new Storage.Snapshot(it.owner(), true, SIZE, null));
    look();
    assertThat(storage.changes()).containsExactly("-PersistentVolumeClaim " + NAME);
    assertThat(image().getStatus().ready()).isTrue();

    identities.reconcile(first);
    identities.reconcile(second);
    var claim = Objects.requireNonNull(storage.claimNow(NAMESPACE, "vmid-db-1"));
    assertThat(claim.getSpec().getDataSource().getName()).isEqualTo(NAME);
    assertThat(claim.getSpec().getVolumeMode()).isEqualTo("Block");
    assertThat(claim.getSpec().getResources().getRequests().get("storage").getAmount())
        .isEqualTo(Long.toString(1L << 30));
    assertThat(first.getStatus().ready()).isFalse();

    storage.bind("vmid-db-0", "256Mi");
    identities.reconcile(first);
    assertThat(first.getStatus().ready()).isTrue();
    assertThat(first.getStatus().claimName()).isEqualTo("vmid-db-0");
    assertThat(first.getStatus().size()).isEqualTo(SIZE);
  }

  @Test
  void aLookAtWhatIsSettledChangesNothingAndAsksNextToNothing() {
    var identity = identity("db-0", null);
    identities.reconcile(identity);
    imported();
    identities.reconcile(identity);
    storage.bind("vmid-db-0", "256Mi");
    identities.reconcile(identity);
    storage.changes();
    var status = identity.getStatus();
    var imageStatus = image().getStatus();
    now = now.plusSeconds(3600);
    storage.asked = 0;
    assertThat(identities.reconcile(identity)).isNull();
    assertThat(images.reconcile(NAMESPACE + "/" + NAME)).isNull();
    assertThat(storage.changes()).isEmpty();
    assertThat(identity.getStatus()).isSameAs(status);
    assertThat(image().getStatus()).isSameAs(imageStatus);
    assertThat(storage.asked).as("whether the snapshot is there").isEqualTo(1);
  }

  /** Hardly anything of a claim can be changed; an old experiment failed on that. */
  @Test
  void aClaimThatSomebodyGrewIsLeftAsItIs() {
    var identity = identity("db-0", null);
    identities.reconcile(identity);
    imported();
    identities.reconcile(identity);
    storage.bind("vmid-db-0", "2Gi");
    storage.changes();
    identities.reconcile(identity);
    assertThat(storage.changes()).isEmpty();
    assertThat(identity.getStatus().size()).isEqualTo(2L << 30);
  }

  @Test
  void aClassThatWaitsForPodsMakesAnIdentityReadyBeforeItsVolume() {
    storage.fast = new Storage.VolumeClass("fast", "csi.example", true);
    var identity = identity("db-0", null);
    identities.reconcile(identity);
    imported();
    identities.reconcile(identity);
    identities.reconcile(identity);
    assertThat(said(identity)).startsWith("Ready: ").contains("when a pod uses it");
  }

  /** Whoever deletes it takes the snapshot along, from which the volume is still to be made. */
  @Test
  void anImageThatGoesBeforeTheVolumeIsThereIsImportedAgain() {
    storage.fast = new Storage.VolumeClass("fast", "csi.example", true);
    var identity = identity("db-0", null);
    identities.reconcile(identity);
    imported();
    identities.reconcile(identity);
    identities.reconcile(identity);
    storage.delete(image());
    storage.snapshots.clear();
    storage.changes();
    identities.reconcile(identity);
    assertThat(storage.changes()).containsExactly("+VirtletVMImage " + NAME);
    assertThat(said(identity)).startsWith("WaitingForImage: ");
    imported();
    identities.reconcile(identity);
    assertThat(said(identity)).startsWith("Ready: ");

    storage.bind("vmid-db-0", "256Mi");
    storage.delete(image());
    storage.changes();
    identities.reconcile(identity);
    assertThat(storage.changes()).as("of what has its volume").isEmpty();
    assertThat(said(identity)).startsWith("Ready: ");
  }

  @Test
  void whatIsMissingInTheClusterIsSaidOfIdentityAndImage() {
    var identity = identity("db-0", null);
    storage.fast = null;
    identities.reconcile(identity);
    assertThat(said(identity)).isEqualTo("NotFound: There is no StorageClass fast.");

    storage.fast = new Storage.VolumeClass("fast", "csi.example", false);
    storage.snapshotClass = new Storage.SnapshotClass.None("No VolumeSnapshotClass …");
    identities.reconcile(identity);
    look();
    assertThat(imageSays()).isEqualTo("NoSnapshots: No VolumeSnapshotClass …");
    identities.reconcile(identity);
    assertThat(said(identity)).startsWith("NoSnapshots: VirtletVMImage " + NAME);
    assertThat(storage.changes()).containsExactly("+VirtletVMImage " + NAME);
  }

  @Test
  void failuresOfDriversAndOfTheImageAreSaid() {
    var identity = identity("db-0", null);
    identities.reconcile(identity);
    look();
    storage.pod(NAME + "-size", "Running", Names.RUNNING_GATE, "NotFound", "there is no image");
    look();
    assertThat(imageSays()).isEqualTo("NotFound: there is no image");
    storage.pod(NAME + "-size", "Succeeded", Names.IMAGE_SIZE, "Ready", Long.toString(SIZE));
    look();
    look();
    look();
    storage.complaint = "no room";
    look();
    assertThat(imageSays()).isEqualTo("ProvisioningFailed: no room");
    storage.bind(NAME, "256Mi");
    storage.pod(NAME + "-fill", "Succeeded", Names.RUNNING_GATE, "Importing", "");
    look();
    look();
    look();
    storage.snapshots.computeIfPresent(
        NAME, (_, it) -> new Storage.Snapshot(it.owner(), false, null, "cannot"));
    look();
    assertThat(imageSays()).isEqualTo("SnapshotFailed: cannot");
    storage.snapshots.computeIfPresent(
        NAME, (_, it) -> new Storage.Snapshot(it.owner(), true, null, null));
    look();
    identities.reconcile(identity);
    identities.reconcile(identity);
    assertThat(said(identity)).isEqualTo("ProvisioningFailed: no room");
  }

  @Test
  void aPodThatDoesNotGetItsVolumesIsMadeAnewAndOneThatIsSlowIsNot() {
    identities.reconcile(identity("db-0", null));
    look();
    storage.pod(NAME + "-size", "Succeeded", Names.IMAGE_SIZE, "Ready", Long.toString(SIZE));
    look();
    look();
    look();
    storage.bind(NAME, "256Mi");
    storage.pod(NAME + "-fill", "Pending", "PodScheduled", "", "");
    storage.waits(NAME + "-fill", now, "ContainerCreating");
    storage.changes();
    now = now.plusSeconds(410);
    look();
    assertThat(storage.changes()).isEmpty();
    now = now.plusSeconds(20);
    storage.waits(NAME + "-fill", now.minusSeconds(430), "ErrImagePull");
    look();
    assertThat(storage.changes()).isEmpty();
    storage.waits(NAME + "-fill", now.minusSeconds(430), "ContainerCreating");
    look();
    assertThat(storage.changes()).containsExactly("-Pod " + NAME + "-fill");
    assertThat(imageSays()).startsWith("Importing: The pod " + NAME + "-fill does not start");
    look();
    storage.waits(NAME + "-fill", now, "ContainerCreating");
    storage.changes();
    now = now.plusSeconds(425);
    look();
    assertThat(storage.changes()).as("the second has longer").isEmpty();
    now = now.plusSeconds(10);
    look();
    assertThat(storage.changes()).containsExactly("-Pod " + NAME + "-fill");
    now = now.plusSeconds(Duration.ofDays(3).toSeconds());
    look();
    storage.waits(NAME + "-fill", now, "ContainerCreating");
    storage.changes();
    now = now.plusSeconds(3590);
    look();
    assertThat(storage.changes()).isEmpty();
    now = now.plusSeconds(20);
    look();
    assertThat(storage.changes()).as("none has more than an hour").isNotEmpty();
  }

  @Test
  void aQuotaIsSaidInTheServersWords() {
    var identity = identity("db-0", null);
    storage.refusal = "exceeded quota";
    identities.reconcile(identity);
    assertThat(said(identity)).isEqualTo("Refused: exceeded quota");
  }

  @Test
  void anIdentitySmallerThanItsImageIsToldAsSoonAsTheSizeIsKnown() {
    var identity = identity("db-0", "1Mi");
    identities.reconcile(identity);
    look();
    storage.pod(NAME + "-size", "Succeeded", Names.IMAGE_SIZE, "Ready", Long.toString(SIZE));
    look();
    identities.reconcile(identity);
    assertThat(said(identity)).startsWith("Invalid: ").contains("size of 1Mi", "needs 256Mi");
  }

  @Test
  void claimsAndSnapshotsOfOthersAreNotTaken() {
    var identity = identity("db-0", null);
    identities.reconcile(identity);
    imported();
    storage.objects.put(
        "PersistentVolumeClaim vmid-db-0",
        new PersistentVolumeClaimBuilder()
            .withNewMetadata()
            .withName("vmid-db-0")
            .endMetadata()
            .build());
    identities.reconcile(identity);
    assertThat(said(identity)).startsWith("NameTaken: ");
    storage.snapshots.put(NAME, new Storage.Snapshot("other", true, SIZE, null));
    look();
    assertThat(imageSays()).startsWith("NameTaken: ");
  }

  @Test
  void aClaimThatIsDeletedIsNotMadeAnew() {
    var identity = identity("db-0", null);
    identities.reconcile(identity);
    imported();
    identities.reconcile(identity);
    storage.bind("vmid-db-0", "256Mi");
    identities.reconcile(identity);
    storage.objects.remove("PersistentVolumeClaim vmid-db-0");
    storage.changes();
    identities.reconcile(identity);
    assertThat(said(identity)).startsWith("NotFound: ").contains("was deleted");
    assertThat(storage.changes()).isEmpty();
  }

  @Test
  void anIdentityGoesWhenItsClaimHasGone() {
    var identity = identity("db-0", null);
    identities.reconcile(identity);
    imported();
    identities.reconcile(identity);
    storage.changes();
    identity.getMetadata().setDeletionTimestamp("2026-01-01T00:00:10Z");
    identities.reconcile(identity);
    assertThat(storage.changes()).containsExactly("-PersistentVolumeClaim vmid-db-0");
    assertThat(identity.getMetadata().getFinalizers()).isNotEmpty();
    identities.reconcile(identity);
    assertThat(identity.getMetadata().getFinalizers()).isEmpty();
  }

  @Test
  void anImageThatNobodyWantsGoesAfterAWhileUnlessSomebodyDoesAgain() {
    var identity = identity("db-0", null);
    identities.reconcile(identity);
    imported();
    storage.objects.remove(FakeStorage.key(identity));
    assertThat(images.reconcile(NAMESPACE + "/" + NAME)).isEqualTo(GRACE);
    now = now.plus(GRACE).minusSeconds(1);
    assertThat(images.reconcile(NAMESPACE + "/" + NAME)).isEqualTo(Duration.ofSeconds(1));
    identity("db-0", null);
    look();
    assertThat(image().getStatus().unusedSince()).isNull();
    assertThat(imageSays()).startsWith("Ready: ");
    storage.objects.remove(FakeStorage.key(identity));
    look();
    now = now.plus(GRACE);
    look();
    assertThat(storage.changes()).containsExactly("-VirtletVMImage " + NAME);
  }

  @Test
  void aSnapshotThatIsGoneIsMadeAnew() {
    var identity = identity("db-0", null);
    identities.reconcile(identity);
    imported();
    storage.snapshots.clear();
    look();
    assertThat(image().getStatus().ready()).isFalse();
    assertThat(storage.changes()).containsExactly("+PersistentVolumeClaim " + NAME);
    look();
    assertThat(storage.changes()).containsExactly("+Pod " + NAME + "-fill");
  }

  private @Nullable String nodeOfTheClaim() {
    var identity = identity("db-0", null);
    identities.reconcile(identity);
    imported();
    identities.reconcile(identity);
    var annotations =
        Objects.requireNonNull(storage.claim(NAMESPACE + "/vmid-db-0"))
            .getMetadata()
            .getAnnotations();
    return annotations == null ? null : annotations.get("volume.kubernetes.io/selected-node");
  }

  /** No scheduler knows where a snapshot is; the volume is made at once, and pods follow it. */
  @Test
  void aClaimIsMadeOnTheNodeOfItsSnapshotWhereThatIsOnOne() {
    storage.fast = new Storage.VolumeClass("fast", "local.csi.platter.dev", true);
    assertThat(nodeOfTheClaim()).isEqualTo("node1");
  }

  @Test
  void aClaimIsMadeAnywhereWhereItsSnapshotIsOnNoNode() {
    assertThat(nodeOfTheClaim()).isNull();
  }

  @Test
  void anImageIsNamedByItsDigestAndItsClass() {
    assertThat(VmImage.name("mirror.example/other@" + DIGEST, "fast")).isEqualTo(NAME);
    assertThat(VmImage.name(IMAGE, "slow")).isNotEqualTo(NAME);
    assertThat(ImageStatus.of(VmImage.of(NAMESPACE, IMAGE, "fast")).ready()).isFalse();
  }

  private static GenericKubernetesResource snapshotClass(String name, boolean isDefault) {
    return new GenericKubernetesResourceBuilder()
        .withNewMetadata()
        .withName(name)
        .addToAnnotations(
            "snapshot.storage.kubernetes.io/is-default-class", Boolean.toString(isDefault))
        .endMetadata()
        .addToAdditionalProperties("driver", "csi.example")
        .build();
  }

  @Test
  void theSnapshotClassIsTheDriversOnlyOneOrItsDefault() {
    var one = snapshotClass("one", false);
    var two = snapshotClass("two", true);
    assertThat(SnapshotApi.choose("csi.example", List.of(one)))
        .isEqualTo(new Storage.SnapshotClass.Found("one"));
    assertThat(SnapshotApi.choose("csi.example", List.of(one, two)))
        .isEqualTo(new Storage.SnapshotClass.Found("two"));
    assertThat(SnapshotApi.choose("csi.example", List.of(one, one)))
        .isInstanceOf(Storage.SnapshotClass.None.class);
    assertThat(SnapshotApi.choose("other.example", List.of(one)))
        .isEqualTo(
            new Storage.SnapshotClass.None("No VolumeSnapshotClass has the driver other.example."));
  }

  private static StorageClass storageClass(String name, String driver, boolean isDefault) {
    return new StorageClassBuilder()
        .withNewMetadata()
        .withName(name)
        .withCreationTimestamp("2026-01-01T00:00:00Z")
        .addToAnnotations("storageclass.kubernetes.io/is-default-class", "" + isDefault)
        .endMetadata()
        .withProvisioner(driver)
        .build();
  }

  @Test
  void theStorageClassOfWhomNamesNoneIsOursOrTheClustersDefault() {
    var ours = storageClass("platter-local", "local.csi.platter.dev", false);
    var fast = storageClass("fast", "csi.example", true);
    var slow = storageClass("slow", "csi.example", false);
    assertThat(VolumeClasses.chosen(List.of(slow, fast, ours))).contains(ours);
    assertThat(VolumeClasses.chosen(List.of(slow, fast))).contains(fast);
    assertThat(VolumeClasses.chosen(List.of(slow))).isEmpty();
    var foreign = storageClass("platter-local", "csi.example", false);
    assertThat(VolumeClasses.chosen(List.of(foreign, fast))).contains(fast);
  }
}
