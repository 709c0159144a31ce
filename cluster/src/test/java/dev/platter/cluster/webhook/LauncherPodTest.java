package dev.platter.cluster.webhook;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class LauncherPodTest {
  private static final String CLAIM =
      """
      kind: PersistentVolumeClaim
      metadata: {name: c}
      spec:
        accessModes: [ReadWriteOnce]
        volumeMode: %s
        %s
        resources: {requests: {storage: 1Gi}}
      """;

  private static final String VOLUME =
      """
      kind: PersistentVolume
      metadata: {name: v}
      spec:
        capacity: {storage: 1Gi}
        accessModes: [ReadWriteOnce]
        volumeMode: %s
        %s
      """;

  private static ObjectNode launcher(String disks, MapObjects cluster) {
    var vm =
        Yaml.one(
            """
            metadata: {name: vm}
            spec: {running: true, domain: {devices: {disks: %s}}}
            """
                .formatted(disks));
    var pod = LauncherGoldenTest.podOf(vm, "vm");
    pod.withObjectProperty("spec").putArray("imagePullSecrets").addObject().put("name", "login");
    return LauncherPod.of(pod, "default", cluster, LauncherGoldenTest.OPTIONS);
  }

  private static List<String> volumes(ObjectNode pod, String field) {
    return Json.objects(pod.path("spec"), "volumes").stream()
        .filter(volume -> volume.has(field))
        .map(Object::toString)
        .toList();
  }

  @Test
  void secretsOfDisksAndPullSecretsAreVolumesThatOnlyRootReads() {
    var pod =
        launcher(
            """
            [{source: {iscsi: {host: 192.0.2.1, portal: 'iqn.a:b', auth: {user: u, secret: {name: chap}}}}},
             {source: {rbd: {monitors: [192.0.2.1], image: i, auth: {user: u, secret: {name: chap}}}}},
             {source: {http: {url: 'https://a.example/d', ca: {name: ca}}}}]
            """,
            new MapObjects());
    assertThat(volumes(pod, "secret"))
        .containsExactly(
            "{\"name\":\"platter-pull-0\",\"secret\":{\"secretName\":\"login\",\"defaultMode\":256,\"optional\":true}}",
            "{\"name\":\"platter-data-0\",\"secret\":{\"secretName\":\"chap\",\"defaultMode\":256}}",
            "{\"name\":\"platter-data-1\",\"secret\":{\"secretName\":\"ca\",\"defaultMode\":256}}");
  }

  @Test
  void aUsageTypeChoosesNodesThatHaveAPoolForIt() {
    var pod =
        launcher(
            """
            [{source: {image: a}, copy: {usage-type: fast}}, {source: {image: b}, copy: {usage-type: default}}]
            """,
            new MapObjects());
    assertThat(pod.at("/spec/nodeSelector").toString())
        .isEqualTo("{\"platter.dev/node\":\"true\",\"usage.platter.dev/fast\":\"true\"}");
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        // volumeMode, volume, driver, way
        "Block | local: {path: /dev/sdb} | '' | device",
        "Filesystem | local: {path: /mnt} | '' | directory",
        "Block | csi: {driver: some.csi, volumeHandle: h} | '' | device",
        "Block | iscsi: {targetPortal: 192.0.2.1, iqn: 'iqn.a:b', lun: 1} | '' | direct",
        "Block | iscsi: {targetPortal: 192.0.2.1, iqn: 'iqn.a:b', lun: 1} | kubelet | device",
        "Filesystem | iscsi: {targetPortal: 192.0.2.1, iqn: 'iqn.a:b', lun: 1, fsType: ext4} | '' | directory",
        "Filesystem | iscsi: {targetPortal: 192.0.2.1, iqn: 'iqn.a:b', lun: 1, fsType: ext4} | qemu | direct",
        "Filesystem | rbd: {monitors: [192.0.2.1], image: i} | '' | direct",
        "Filesystem | flexVolume: {driver: virtlet/flexvolume_driver, fsType: ext4, options: {type: qcow2}} | '' | direct",
        "Block | csi: {driver: rbd.csi.ceph.com, volumeHandle: h, volumeAttributes: {clusterID: c, pool: p, imageName: i}} | '' | device",
        "Block | csi: {driver: rbd.csi.ceph.com, volumeHandle: h, volumeAttributes: {clusterID: c, pool: p, imageName: i}} | qemu | direct",
      })
  void aClaimIsMountedMappedOrLeftToQemu(String mode, String volume, String driver, String way) {
    var disk =
        "[{source: {pvc: c}%s}]"
            .formatted(driver.isEmpty() ? "" : ", driver: {name: " + driver + "}");
    for (var bound : List.of("volumeName: v", "")) {
      var cluster =
          new MapObjects()
              .with(Yaml.one(CLAIM.formatted(mode, bound)))
              .with(Yaml.one(VOLUME.formatted(mode, volume)));
      var container = launcher(disk, cluster).at("/spec/containers/0");
      assertThat(container.path("volumeDevices").toString().contains("platter-claim-0"))
          .as("as a device")
          .isEqualTo(way.equals("device"));
      assertThat(container.path("volumeMounts").toString().contains("platter-claim-0"))
          .as("as a directory")
          .isEqualTo(way.equals("directory"));
      assertThat(volumes(launcher(disk, cluster), "persistentVolumeClaim"))
          .hasSize(way.equals("direct") ? 0 : 1);
    }
  }

  private static ObjectNode withIdentity(String more, String affinity) {
    return Yaml.one(
        """
        metadata:
          name: db-0
          labels: {platter.dev/identity: another}
          annotations:
            kubernetes.io/target-runtime: virtlet.cloud
            VirtletVMIdentitySet: dbs
            %s
        spec:
          %s
          containers: [{name: vm, image: virtlet.cloud/a@sha256:%s}]
        """
            .formatted(more, affinity, "1".repeat(64)));
  }

  private static MapObjects identityOn(String name, String node) {
    return new MapObjects()
        .with(
            Yaml.one(
                """
                kind: VirtletVMIdentity
                metadata: {name: %s, namespace: default}
                status: {nodeName: %s}
                """
                    .formatted(name, node)));
  }

  private static ObjectNode launcher(ObjectNode pod, MapObjects cluster, String namespace) {
    return LauncherPod.of(pod, namespace, cluster, LauncherGoldenTest.OPTIONS);
  }

  @Test
  void aPodIsPlacedByPreferenceWhereTheDiskOfItsIdentityIsOrIsToBe() {
    var terms = "/spec/affinity/nodeAffinity/preferredDuringSchedulingIgnoredDuringExecution";
    var pod = withIdentity("", "");
    var there = launcher(pod, identityOn("db-0", "node7"), "default");
    assertThat(there.at("/metadata/labels").path("platter.dev/identity").asText())
        .isEqualTo("db-0");
    assertThat(there.at(terms).toString())
        .isEqualTo(
            "[{\"weight\":100,\"preference\":{\"matchFields\":[{\"key\":\"metadata.name\","
                + "\"operator\":\"In\",\"values\":[\"node7\"]}]}}]");
    assertThat(launcher(pod, new MapObjects(), "default").at(terms).isMissingNode()).isTrue();
    var named = withIdentity("VirtletVMIdentityName: override", "");
    assertThat(launcher(named, identityOn("override", "node7"), "default").at(terms)).hasSize(1);
    var moves = identityOn("db-0", "node7}\nspec: {nodeName: node8");
    assertThat(launcher(pod, moves, "default").at(terms).toString()).contains("[\"node8\"]");
    var both =
        withIdentity(
            "",
            "affinity: {nodeAffinity: {preferredDuringSchedulingIgnoredDuringExecution:"
                + " [{weight: 1, preference: {matchExpressions: []}}]}}");
    assertThat(launcher(both, identityOn("db-0", "node7"), "default").at(terms)).hasSize(2);
  }

  @Test
  void aPodWhoseIdentityIsAClaimHasItAsADeviceBeforeThereIsOne() {
    var set =
        Yaml.one(
            """
            kind: VirtletVMIdentitySet
            metadata: {name: dbs, namespace: default}
            spec: {type: PersistentVolume}
            """);
    var device = "{\"name\":\"platter-claim-0\",\"devicePath\":\"/volumes/platter-claim-0\"}";
    var pod = launcher(withIdentity("", ""), new MapObjects().with(set), "default");
    assertThat(volumes(pod, "persistentVolumeClaim"))
        .containsExactly(
            "{\"name\":\"platter-claim-0\",\"persistentVolumeClaim\":{\"claimName\":\"vmid-db-0\"}}");
    assertThat(pod.at("/spec/containers/0/volumeDevices/0").toString()).isEqualTo(device);
    var local =
        new MapObjects()
            .with(set)
            .with(
                Yaml.one(
                    "{kind: VirtletVMIdentity, metadata: {name: db-0, namespace: default}, spec: {type: Local}}"));
    assertThat(volumes(launcher(withIdentity("", ""), local, "default"), "persistentVolumeClaim"))
        .as("what the identity is goes before what the set says by now")
        .isEmpty();
  }

  @Test
  void aPodWithoutANameOfItsOwnHasNoIdentity() {
    var pod = withIdentity("", "");
    ((ObjectNode) pod.get("metadata")).remove("name");
    ((ObjectNode) pod.get("metadata")).put("generateName", "web-");
    assertThatThrownBy(() -> launcher(pod, new MapObjects(), "default"))
        .hasMessageContaining("StatefulSet");
  }

  @Test
  void theMemoryIsTheGuestsAndWhatIsNeededBesides() {
    var vm =
        Yaml.one(
            """
            metadata: {name: vm}
            spec: {domain: {memory: {guest: 4Gi}, devices: {disks: [{source: {image: a}}]}}}
            """);
    var pod = LauncherGoldenTest.podOf(vm, "vm");
    var launcher = LauncherPod.of(pod, "default", new MapObjects(), LauncherGoldenTest.OPTIONS);
    assertThat(launcher.at("/spec/containers/0/resources").toString())
        .isEqualTo("{\"limits\":{\"memory\":\"4296Mi\"},\"requests\":{\"memory\":\"4296Mi\"}}");
  }
}
