package dev.platter.cluster.controller;

import static org.assertj.core.api.Assertions.assertThat;

import dev.platter.cluster.api.Names;
import dev.platter.cluster.controller.Storage.VolumeClass;
import dev.platter.lab.Shell;
import io.fabric8.kubernetes.api.model.PersistentVolumeClaim;
import io.fabric8.kubernetes.api.model.PersistentVolumeClaimBuilder;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Claims that are copied go to where the bytes are, whatever a scheduler would choose. */
class CopyReconcilerTest {
  private static final String NODE = "volume.kubernetes.io/selected-node";

  private PersistentVolumeClaim claim = claim("VolumeSnapshot");
  private Optional<VolumeClass> volumes =
      Optional.of(new VolumeClass("platter-local", Names.VOLUME_DRIVER, true));
  private Optional<String> handle = Optional.of(handle("node2"));
  private Instant now = Instant.parse("2026-01-01T00:00:00Z");
  private int written;

  private final CopyReconciler reconciler =
      new CopyReconciler(
          new CopyReconciler.Copies() {
            @Override
            public PersistentVolumeClaim claim(String namespace, String name) {
              return claim;
            }

            @Override
            public Optional<VolumeClass> volumeClass(String name) {
              return volumes;
            }

            @Override
            public Optional<String> origin(PersistentVolumeClaim of) {
              return handle;
            }

            @Override
            public List<String> nodes() {
              return List.of("node1", "node2");
            }

            @Override
            public void annotate(PersistentVolumeClaim of, Map<String, String> annotations) {
              written++;
              of.getMetadata().getAnnotations().putAll(annotations);
            }
          },
          () -> now);

  /** As the driver on that node calls it, by a hash that is not ours. */
  private static String handle(String node) {
    var hash = Shell.run("sh", "-c", "printf %s " + node + " | sha256sum");
    return "snap-" + "0".repeat(32) + "." + hash.substring(0, 8);
  }

  private static PersistentVolumeClaim claim(String from) {
    return new PersistentVolumeClaimBuilder()
        .withNewMetadata()
        .withNamespace("shop")
        .withName("copy")
        .withUid("1")
        .addToAnnotations("a", "b")
        .endMetadata()
        .withNewSpec()
        .withStorageClassName("platter-local")
        .withNewDataSource("", from, "monday")
        .endSpec()
        .build();
  }

  private String node() {
    return claim.getMetadata().getAnnotations().get(NODE);
  }

  @ParameterizedTest
  @ValueSource(strings = {"VolumeSnapshot", "PersistentVolumeClaim"})
  void theNodeOfWhatItIsCopiedFromIsWritten(String from) {
    claim = claim(from);
    assertThat(reconciler.reconcile("shop/copy")).isNull();
    assertThat(node()).isEqualTo("node2");
  }

  @Test
  void whatIsNotThereYetIsLookedForAgain() {
    handle = Optional.empty();
    assertThat(reconciler.reconcile("shop/copy")).isPositive();
    handle = Optional.of(handle("gone"));
    assertThat(reconciler.reconcile("shop/copy")).isPositive();
    assertThat(node()).isNull();
    handle = Optional.of(handle("node1"));
    reconciler.reconcile("shop/copy");
    assertThat(node()).isEqualTo("node1");
  }

  @Test
  void aDriverThatHasNoRoomIsAskedMoreAndMoreSeldom() {
    for (var second = 0; second < 600; second++) {
      reconciler.reconcile("shop/copy");
      claim.getMetadata().getAnnotations().remove(NODE);
      now = now.plus(Duration.ofSeconds(1));
    }
    assertThat(written).isBetween(8, 20);
  }

  @Test
  void othersAreLeftAlone() {
    claim.getMetadata().getAnnotations().put(NODE, "node1");
    assertThat(reconciler.reconcile("shop/copy")).isNull();
    claim = claim("VolumeSnapshot");
    claim.getSpec().setVolumeName("pv");
    assertThat(reconciler.reconcile("shop/copy")).isNull();
    claim = claim("DiskImport");
    assertThat(reconciler.reconcile("shop/copy")).isNull();
    claim = claim("VolumeSnapshot");
    for (var other :
        List.of(
            new VolumeClass("other", "other.csi.example", true),
            new VolumeClass("platter-now", Names.VOLUME_DRIVER, false))) {
      volumes = Optional.of(other);
      assertThat(reconciler.reconcile("shop/copy")).isNull();
    }
    claim.getMetadata().setName(Names.FILLS_PREFIX + "1");
    assertThat(reconciler.reconcile("shop/copy")).isNull();
    assertThat(written).isZero();
  }
}
