package dev.platter.cluster.controller;

import static dev.platter.cluster.controller.FakeStorage.NAMESPACE;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import dev.platter.cluster.api.Names;
import dev.platter.cluster.api.VmIdentity;
import dev.platter.cluster.api.VmImage;
import io.fabric8.kubernetes.api.model.HasMetadata;
import io.fabric8.kubernetes.api.model.ObjectMetaBuilder;
import io.fabric8.kubernetes.api.model.OwnerReference;
import io.fabric8.kubernetes.api.model.PersistentVolumeClaim;
import io.fabric8.kubernetes.api.model.Pod;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Two identities come, have their image imported, and go, on a cluster in memory. The controller is
 * killed before and after each of its changes, and a pod of the import fails or is lost; what there
 * is in the end is the same, and nothing stays that belongs to nobody.
 */
class ImportSweepTest {
  private static final String IMAGE = "disks.example/db@sha256:" + "1".repeat(64);
  private static final String NAME = VmImage.name(IMAGE, "fast");
  private static final Duration GRACE = Duration.ofMinutes(10);
  private static final String SIZE = Long.toString(256L << 20);

  /** More than it ever takes. */
  private static final int LOOKS = 20;

  private FakeStorage storage = new FakeStorage();
  private Instant now = Instant.EPOCH;
  private VolumeIdentities identities = new VolumeIdentities(storage, () -> now);
  private ImageReconciler images = new ImageReconciler(storage, GRACE, () -> now);
  private List<String> happened = List.of();

  /** The pod that comes to grief the first time that there is one, and how. */
  private String victim = "";

  private String accident = "";

  private static final class Killed extends Error {
    private static final long serialVersionUID = 1;
  }

  @BeforeEach
  void begin() {
    storage = new FakeStorage();
    now = Instant.parse("2026-01-01T00:00:00Z");
    happened = new ArrayList<>();
    restart();
    for (var name : List.of("db-0", "db-1")) {
      var identity = new VmIdentity();
      identity.setMetadata(
          new ObjectMetaBuilder()
              .withNamespace(NAMESPACE)
              .withName(name)
              .withUid("uid-of-" + name)
              .withFinalizers(
                  name.equals("db-0") ? List.of(Names.DISK_FINALIZER) : List.of()) // by hand
              .build());
      identity.setSpec(
          JsonNodeFactory.instance
              .objectNode()
              .put("image", IMAGE)
              .put("type", "PersistentVolume")
              .put("storageClassName", "fast"));
      storage.objects.put(FakeStorage.key(identity), identity);
    }
  }

  /** All that a controller knows is in the API server. */
  private void restart() {
    identities = new VolumeIdentities(storage, () -> now);
    images = new ImageReconciler(storage, GRACE, () -> now);
  }

  /**
   * Lets the controller die at one of its moments.
   *
   * @return whether it came so far
   */
  private boolean play(int killedAt) {
    var moments = new int[1];
    storage.moment =
        () -> {
          if (moments[0]++ == killedAt) {
            throw new Killed();
          }
        };
    settle();
    assertThat(storage.objects.keySet())
        .containsExactly(
            "PersistentVolumeClaim vmid-db-0",
            "PersistentVolumeClaim vmid-db-1",
            "VirtletVMIdentity db-0",
            "VirtletVMIdentity db-1",
            "VirtletVMImage " + NAME);
    assertThat(storage.snapshots.keySet()).containsExactly(NAME);
    assertThat(all(VmIdentity.class))
        .allMatch(it -> it.getStatus().ready())
        .allMatch(
            it ->
                VmIdentity.claimName(it.getMetadata().getName())
                    .equals(it.getStatus().claimName()));
    assertThat(all(VmImage.class)).allMatch(it -> it.getStatus().ready());

    all(VmIdentity.class).forEach(it -> it.getMetadata().setDeletionTimestamp(now.toString()));
    settle();
    now = now.plus(GRACE).plusSeconds(1);
    settle();
    assertThat(storage.objects).isEmpty();
    assertThat(storage.snapshots).isEmpty();
    return moments[0] > killedAt;
  }

  private <T extends HasMetadata> List<T> all(Class<T> type) {
    return storage.objects.values().stream().filter(type::isInstance).map(type::cast).toList();
  }

  private void settle() {
    for (var i = 0; i < LOOKS; i++) {
      try {
        all(VmIdentity.class).forEach(identities::reconcile);
        images.reconcile(NAMESPACE + "/" + NAME);
      } catch (Killed e) {
        restart();
      }
      happened.addAll(storage.changes());
      othersAct();
    }
  }

  /** Kubelets, the CSI driver and the garbage collector do what is theirs. */
  private void othersAct() {
    all(Pod.class).forEach(this::run);
    for (var claim : all(PersistentVolumeClaim.class)) {
      var size = claim.getSpec().getResources().getRequests().get("storage");
      storage.bind(claim.getMetadata().getName(), size.toString());
    }
    storage.snapshots.replaceAll(
        (_, it) -> new Storage.Snapshot(it.owner(), true, Long.valueOf(SIZE), null));
    all(VmIdentity.class).stream()
        .filter(it -> it.ends() && it.getMetadata().getFinalizers().isEmpty())
        .forEach(it -> storage.objects.remove(FakeStorage.key(it)));
    var uids = storage.objects.values().stream().map(it -> it.getMetadata().getUid()).toList();
    storage.objects.values().removeIf(it -> !uids.containsAll(owners(it)));
    storage.snapshots.values().removeIf(it -> !uids.contains(it.owner()));
  }

  private static List<String> owners(HasMetadata object) {
    return Stream.ofNullable(object.getMetadata().getOwnerReferences())
        .flatMap(List::stream)
        .map(OwnerReference::getUid)
        .toList();
  }

  private void run(Pod pod) {
    var name = pod.getMetadata().getName();
    if (name.equals(victim)) {
      victim = "";
      if (accident.equals("lost")) {
        storage.objects.remove(FakeStorage.key(pod));
      } else {
        storage.pod(name, accident, Names.RUNNING_GATE, "Importing", "");
      }
    } else if (name.endsWith(FillerPod.SIZE)) {
      storage.pod(name, "Succeeded", Names.IMAGE_SIZE, "Ready", SIZE);
    } else {
      storage.pod(name, "Succeeded", Names.RUNNING_GATE, "Importing", "");
    }
  }

  private long count(String change) {
    return happened.stream().filter(change::equals).count();
  }

  @Test
  void theControllerIsKilledBeforeAndAfterEachOfItsChanges() {
    var killedAt = 0;
    for (; play(killedAt); killedAt++) {
      assertThat(count("+snapshot of " + NAME + " by snaps"))
          .as("imports with the controller killed at " + killedAt)
          .isLessThanOrEqualTo(1);
      assertThat(count("+Pod " + NAME + FillerPod.FILL)).isLessThanOrEqualTo(1);
      begin();
    }
    assertThat(killedAt).as("moments").isGreaterThan(40);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {"-size Failed", "-size lost", "-fill Failed", "-fill lost", "-fill Unknown"})
  void aPodOfTheImportComesToGrief(String what) {
    var words = what.split(" ", 2);
    victim = NAME + words[0];
    accident = words[1];
    assertThat(play(Integer.MAX_VALUE)).isFalse();
    assertThat(victim).as("it happened").isEmpty();
    assertThat(Objects.requireNonNull(happened)).contains("+snapshot of " + NAME + " by snaps");
  }
}
