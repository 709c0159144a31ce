package dev.platter.cluster.node;

import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import dev.platter.cluster.api.Names;
import dev.platter.cluster.api.VmIdentity;
import dev.platter.model.PlatterException;
import dev.platter.model.RbdSource;
import io.fabric8.kubernetes.api.model.ObjectMetaBuilder;
import io.fabric8.kubernetes.api.model.PersistentVolume;
import io.fabric8.kubernetes.api.model.PersistentVolumeBuilder;
import io.fabric8.kubernetes.api.model.PersistentVolumeClaim;
import io.fabric8.kubernetes.api.model.PersistentVolumeClaimBuilder;
import io.fabric8.kubernetes.api.model.Pod;
import io.fabric8.kubernetes.api.model.PodBuilder;
import io.fabric8.kubernetes.api.model.VolumeBuilder;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What a node knows of a VM, from its pod and what the API server has of its claims. */
class GatheringTest {
  private static final String VM =
      """
      {"apiVersion": "platter.dev/v1alpha1", "kind": "VirtualMachine", "metadata": {"name": "vm"},
       "spec": {"domain": {"devices": {"disks": [{"source": {"pvc": "data"}}]}}}}
      """;

  private static final String IMAGE = "disks/db@sha256:" + "1".repeat(64);

  /** Whose volumes are all directories of a node. */
  private static final Gathering.Storage STORAGE =
      new Gathering.Storage() {
        @Override
        public Optional<PersistentVolumeClaim> claim(String namespace, String name) {
          return Optional.of(
              new PersistentVolumeClaimBuilder()
                  .withNewMetadata()
                  .withName(name)
                  .withNamespace(namespace)
                  .endMetadata()
                  .withNewSpec()
                  .withVolumeName("by-path")
                  .endSpec()
                  .build());
        }

        @Override
        public Optional<VmIdentity> identity(String namespace, String name) {
          var identity = new VmIdentity();
          identity.setMetadata(
              new ObjectMetaBuilder().withName(name).withNamespace(namespace).build());
          identity.setSpec(
              JsonNodeFactory.instance
                  .objectNode()
                  .put("image", IMAGE)
                  .put("type", "PersistentVolume")
                  .put("identitySet", "dbs"));
          return Optional.of(identity);
        }

        @Override
        public Optional<PersistentVolume> volume(String name) {
          return Optional.of(
              new PersistentVolumeBuilder()
                  .withNewMetadata()
                  .withName(name)
                  .endMetadata()
                  .withNewSpec()
                  .withNewHostPath("/srv/data", "Directory")
                  .endSpec()
                  .build());
        }
      };

  @TempDir Path kubelet;

  private static Pod pod() {
    return new PodBuilder()
        .withNewMetadata()
        .withName("vm")
        .withNamespace("default")
        .withUid("6f9c5a52-7b0e-4d62-9a40-2f6f3f2c7a11")
        .addToAnnotations(Names.VM, VM)
        .endMetadata()
        .withNewSpec()
        .addNewVolume()
        .withName("platter-claim-0")
        .withNewPersistentVolumeClaim("data", false)
        .endVolume()
        .endSpec()
        .build();
  }

  @Test
  void aHostPathIsNotMountedForUs() {
    assertThatThrownBy(() -> new Gathering(kubelet, STORAGE).of(pod()))
        .isInstanceOfSatisfying(
            PlatterException.class,
            refused -> {
              assertThat(refused)
                  .hasMessageContaining("the volume by-path of claim data is a hostPath");
              assertThat(refused.next()).contains("local");
            });
  }

  @Test
  void aKeyThatStandsInThePodIsThere() throws IOException {
    var written =
        """
        {"containers": [{"name": "vm", "image": "virtlet.cloud/cirros"}],
         "volumes": [{"name": "disk", "flexVolume": {"driver": "virtlet/flexvolume_driver", "options": {
           "type": "ceph", "monitor": "192.0.2.1:6789", "user": "libvirt", "secret": "dHVsaXA=",
           "volume": "image", "pool": "pool"}}}]}
        """;
    var pod =
        new PodBuilder(pod())
            .editMetadata()
            .withAnnotations(
                Map.of(Names.TARGET_RUNTIME, Names.OUR_RUNTIME, Names.WRITTEN, written))
            .endMetadata()
            .withNewSpec()
            .endSpec()
            .build();
    var gathered = new Gathering(kubelet, STORAGE).of(pod);
    var disk = (RbdSource) gathered.vms().getFirst().disks().get(1).source();
    var secret = requireNonNull(disk.login()).secret();
    assertThat(gathered.secrets().find(secret.name(), secret.key())).isPresent();
  }

  /** That it is a hostPath shows that the claim is looked for where other claims are. */
  @Test
  void theRootDiskOfAnIdentityOnAStorageClassIsItsClaim() {
    assertThatThrownBy(() -> new Gathering(kubelet, STORAGE).of(withIdentity("vmid-db-0")))
        .hasMessageContaining("of claim vmid-db-0 is a hostPath");
    assertThatThrownBy(() -> new Gathering(kubelet, STORAGE).of(withIdentity("data")))
        .hasMessageContaining("older than its VirtletVMIdentitySet");
  }

  private static Pod withIdentity(String claim) {
    var written =
        "{\"containers\": [{\"name\": \"vm\", \"image\": \"virtlet.cloud/" + IMAGE + "\"}]}";
    return new PodBuilder(pod())
        .editMetadata()
        .withLabels(Map.of(Names.IDENTITY, "db-0"))
        .withAnnotations(
            Map.of(
                Names.TARGET_RUNTIME,
                Names.OUR_RUNTIME,
                Names.WRITTEN,
                written,
                Names.IDENTITY_SET,
                "dbs",
                Names.IDENTITY_NAME,
                "db-0"))
        .endMetadata()
        .editSpec()
        .withVolumes(
            new VolumeBuilder()
                .withName("platter-claim-0")
                .withNewPersistentVolumeClaim(claim, false)
                .build())
        .endSpec()
        .build();
  }
}
