package dev.platter.cluster.node;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.platter.cluster.api.Names;
import dev.platter.image.raw.SparseFile;
import dev.platter.node.Node;
import dev.platter.node.image.Images;
import io.fabric8.kubernetes.api.model.PersistentVolume;
import io.fabric8.kubernetes.api.model.PersistentVolumeBuilder;
import io.fabric8.kubernetes.api.model.PersistentVolumeClaim;
import io.fabric8.kubernetes.api.model.PersistentVolumeClaimBuilder;
import io.fabric8.kubernetes.api.model.Pod;
import io.fabric8.kubernetes.api.model.PodBuilder;
import java.io.IOException;
import java.lang.reflect.Proxy;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** Pods for which a volume begins as their image: which volume, and of which pods. */
class DrawingFillsTest extends PodVmsScene {
  private static final String DIGEST = "sha256:" + "d".repeat(64);
  private static final String NAME = "platter-fill-" + uid(7);
  private static final String HANDLE = "vol-" + "0".repeat(32) + ".01234567";

  private final List<String> drawn = new ArrayList<>();
  private final AtomicInteger looks = new AtomicInteger();

  private Fills fills() throws IOException {
    var images =
        (Images)
            Proxy.newProxyInstance(
                getClass().getClassLoader(),
                new Class<?>[] {Images.class},
                (_, method, _) ->
                    switch (method.getName()) {
                      case "resolve" -> DIGEST;
                      case "ensure" -> {
                        if (!Files.exists(layout.base(DIGEST))) {
                          Files.createDirectories(layout.image(DIGEST));
                          SparseFile.create(layout.base(DIGEST), 1 << 20);
                        }
                        yield null;
                      }
                      case "sealed" -> looks.incrementAndGet() > 2;
                      case "list" -> List.of();
                      default -> null;
                    });
    var leases = new DiskLeases(null, "platter-system", "node1");
    var gathering = new Gathering(work, api);
    var drawing =
        new PodVms(
            new Node(layout, machine(), images, starts),
            api,
            gathering,
            owners,
            leases,
            work,
            starts,
            _ -> {});
    return new Fills(
        drawing,
        api,
        gathering,
        owners,
        leases,
        (handle, digest, bytes) -> drawn.add(handle + " " + digest + " " + bytes));
  }

  /** As the controller writes it, and the webhook. */
  private static Pod pod() {
    var image = "virtlet.cloud/registry.example/disks/debian@" + DIGEST;
    return new PodBuilder()
        .withNewMetadata()
        .withName(NAME)
        .withNamespace("default")
        .withUid(uid(1))
        .addToLabels(Names.LAUNCHER, "true")
        .addToAnnotations(Names.TARGET_RUNTIME, Names.OUR_RUNTIME)
        .addToAnnotations(Names.FILL, Names.FILL_DRAW)
        .addToAnnotations(
            Names.WRITTEN,
            "{\"containers\": [{\"name\": \"draw\", \"image\": \"%s\"}]}".formatted(image))
        .endMetadata()
        .withNewSpec()
        .withNodeName("node1")
        .endSpec()
        .withNewStatus()
        .endStatus()
        .build();
  }

  private static PersistentVolumeClaim claim(String filler, @Nullable String volume) {
    return new PersistentVolumeClaimBuilder()
        .withNewMetadata()
        .withName(NAME)
        .withUid(uid(2))
        .addToAnnotations(Names.FILLED_BY, filler)
        .endMetadata()
        .withNewSpec()
        .withVolumeMode("Block")
        .withVolumeName(volume)
        .endSpec()
        .build();
  }

  private static PersistentVolume volume(String driver, String owner) {
    return new PersistentVolumeBuilder()
        .withNewMetadata()
        .withName("pv")
        .endMetadata()
        .withNewSpec()
        .withNewClaimRef()
        .withUid(owner)
        .endClaimRef()
        .withNewCsi()
        .withDriver(driver)
        .withVolumeHandle(HANDLE)
        .endCsi()
        .endSpec()
        .build();
  }

  @Test
  void theVolumeThatWasMadeForThePodBeginsAsItsImageWhenItIsThere() throws Exception {
    api.claims.add(claim(uid(1), null));
    api.claims.add(claim(uid(1), "pv"));
    api.volume = volume(Names.VOLUME_DRIVER, uid(2));
    assertThat(fills().draw(pod())).isEqualTo(1 << 20);
    assertThat(drawn).containsExactly(HANDLE + " " + DIGEST + " " + (1 << 20));
    fills().await(pod(), _ -> {});
    assertThat(looks.get()).as("until all of the image is here").isEqualTo(3);
  }

  /** The kernel would mount what a tenant has made. */
  @Test
  void aFileSystemDoesNot() {
    var claim = claim(uid(1), "pv");
    claim.getSpec().setVolumeMode("Filesystem");
    api.claims.add(claim);
    api.volume = volume(Names.VOLUME_DRIVER, uid(2));
    assertThatThrownBy(() -> fills().draw(pod())).hasMessageContaining("volumeMode: Block");
    assertThat(drawn).isEmpty();
  }

  @Test
  void noOtherVolumeDoes() throws Exception {
    api.claims.add(claim(uid(9), "pv")); // A claim of the name that another pod fills.
    api.volume = volume(Names.VOLUME_DRIVER, uid(2));
    var fills = fills();
    var waits = Thread.ofPlatform().start(() -> assertThatThrownBy(() -> fills.draw(pod())));
    Thread.sleep(1000);
    api.claims.clear();
    api.claims.add(claim(uid(1), "pv"));
    api.volume = volume(Names.VOLUME_DRIVER, uid(9)); // A volume that is another claim's by now.
    Thread.sleep(1000);
    assertThat(waits.isAlive()).isTrue();
    waits.interrupt();
    waits.join();
    api.volume = volume("other.csi.example", uid(2));
    assertThatThrownBy(() -> fills.draw(pod())).hasMessageContaining("not one of");
    assertThat(drawn).isEmpty();
  }
}
