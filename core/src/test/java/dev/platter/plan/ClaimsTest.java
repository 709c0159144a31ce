package dev.platter.plan;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import dev.platter.dialect.Manifests;
import dev.platter.model.ByteSize;
import dev.platter.model.Credentials;
import dev.platter.model.DeviceSource;
import dev.platter.model.DiskImgSource;
import dev.platter.model.Endpoint;
import dev.platter.model.IscsiSource;
import dev.platter.model.PlatterException;
import dev.platter.model.PlatterException.Code;
import dev.platter.model.RbdSource;
import dev.platter.model.SecretRef;
import dev.platter.model.Source;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class ClaimsTest {
  private static final String LOCAL = "local: {path: /mnt/v}";
  private static final String ISCSI =
      "iscsi: {targetPortal: 192.0.2.1, iqn: 'iqn.2017-01.com.example:a', lun: 3}";
  private static final String RBD = "rbd: {monitors: ['192.0.2.1'], image: i, fsType: xfs}";
  private static final List<Endpoint> MONITORS =
      List.of(new Endpoint("192.0.2.1", 6789), new Endpoint("2001:db8::1", 3300));

  private static String disk(String more) {
    return "kind: VM\nspec: {domain: {devices: {disks: [{source: {pvc: c}%s}]}}}\n".formatted(more);
  }

  private static String claim(String spec) {
    return """
        ---
        apiVersion: v1
        kind: PersistentVolumeClaim
        metadata: {name: c}
        spec: {resources: {requests: {storage: 1Gi}}%s}
        """
        .formatted(spec);
  }

  private static String volume(String spec) {
    return """
        ---
        apiVersion: v1
        kind: PersistentVolume
        metadata: {name: v}
        spec: {%s}
        """
        .formatted(spec);
  }

  private static Source resolve(String... yaml) {
    var objects = Manifests.objects("t.yaml", String.join("", yaml));
    var vm = Claims.resolve(objects.vms().getFirst(), objects.volumes(), objects.secrets());
    return vm.disks().getFirst().source();
  }

  private static PlatterException refused(String... yaml) {
    var refused = catchThrowableOfType(PlatterException.class, () -> resolve(yaml));
    assertThat(refused).as("nothing was refused").isNotNull();
    return refused;
  }

  @ParameterizedTest
  @ValueSource(strings = {LOCAL, "hostPath: {path: /mnt/v, type: Directory}"})
  void aLocalVolumeIsAFileSystemUnlessItSaysBlock(String local) {
    assertThat(resolve(disk(""), claim(", volumeName: v"), volume(local)))
        .isEqualTo(new DiskImgSource("/mnt/v", ByteSize.parse("1Gi")));
    assertThat(
            resolve(
                disk(", driver: {name: kubelet}"),
                claim(", volumeName: v, volumeMode: Block"),
                volume("volumeMode: Block, " + local)))
        .isEqualTo(new DeviceSource("/mnt/v", false));
  }

  @Test
  void aNetworkVolumeWithoutAFileSystemIsARawDisk() {
    assertThat(resolve(disk(""), claim(", volumeName: v"), volume(ISCSI)))
        .isEqualTo(
            new IscsiSource(new Endpoint("192.0.2.1", 3260), "iqn.2017-01.com.example:a", 3, null));
  }

  @Test
  void aNetworkVolumeWithAFileSystemIsForAKubeletUnlessQemuIsNamed() {
    var bound = claim(", volumeName: v");
    assertThat(refused(disk(""), bound, volume(RBD)))
        .hasMessage(
            "disk sda: the rbd volume v has a file system (xfs) for a kubelet to mount, and there"
                + " is none here");
    assertThat(resolve(disk(", driver: {name: qemu}"), bound, volume(RBD)))
        .isEqualTo(new RbdSource(List.of(new Endpoint("192.0.2.1", 6789)), "rbd", "i", null));
    assertThat(
            resolve(
                disk(""),
                claim(", volumeName: v, volumeMode: Block"),
                volume("volumeMode: Block, " + RBD)))
        .isInstanceOf(RbdSource.class);
  }

  @Test
  void aClaimIsFoundByTheVolumeThatNamesIt() {
    assertThat(resolve(disk(""), claim(""), volume("claimRef: {name: c}, " + LOCAL)))
        .isInstanceOf(DiskImgSource.class);
  }

  @Test
  void chapNamesAreReadFromTheSecretAndPasswordsAreNot() {
    var chap =
        ISCSI.replace(
            "lun: 3", "lun: 3, chapAuthSession: true, secretRef: {name: s, namespace: n}");
    var secret =
        "---\nkind: Secret\nmetadata: {name: s, namespace: n}\n"
            + "stringData: {node.session.auth.username: joe, node.session.auth.password: x}\n";
    var bound = claim(", volumeName: v");
    assertThat(((IscsiSource) resolve(disk(""), bound, volume(chap), secret)).login())
        .isEqualTo(
            new Credentials("joe", SecretRef.ofObject("n", "s", "node.session.auth.password")));
    assertThat(refused(disk(""), bound, volume(chap)))
        .hasMessageContaining("no Secret n/s, which holds the user's name");
    assertThat(refused(disk(""), bound, volume(chap), secret.replace("username", "other")))
        .hasMessageContaining("Secret n/s has no key node.session.auth.username");
    assertThat(refused(disk(""), bound, volume(chap), secret.replace("joe", "'a b'")))
        .hasMessageContaining("cannot be a user's name")
        .hasMessageNotContaining("a b");
  }

  @Test
  void cephCsiVolumesGetTheMonitorsOfTheirCluster() {
    var volume =
        volume(
            """
            volumeMode: Block, csi: {driver: rook-ceph.rbd.csi.ceph.com, volumeHandle: img,
              volumeAttributes: {clusterID: c1, pool: p, staticVolume: "true"},
              nodeStageSecretRef: {name: s, namespace: n}}""");
    var bound = claim(", volumeName: v, volumeMode: Block");
    var rest =
        """
        ---
        kind: ConfigMap
        metadata: {name: ceph-csi-config}
        data: {config.json: '[{"clusterID":"c1","monitors":["192.0.2.1:6789","[2001:db8::1]:3300"]}]'}
        ---
        kind: Secret
        metadata: {name: s, namespace: n}
        stringData: {userID: kube, userKey: x}
        """;
    assertThat(resolve(disk(""), bound, volume, rest))
        .isEqualTo(
            new RbdSource(
                MONITORS,
                "p",
                "img",
                new Credentials("kube", SecretRef.ofObject("n", "s", "userKey"))));
    assertThat(refused(disk(""), bound, volume, rest.replace("c1", "c2")))
        .hasMessage("disk sda: nothing says where the Ceph cluster c1 is");
  }

  @Test
  void aFlexVolumesKeyIsAsSecretAsAnyOther() {
    var volume =
        volume(
            """
            flexVolume: {driver: virtlet/flexvolume_driver, options: {type: ceph,
              monitor: '192.0.2.1:6789,[2001:db8::1]:3300', pool: p, volume: img, user: u,
              secret: c2VjcmV0}}""");
    var objects = Manifests.objects("t.yaml", disk("") + claim(", volumeName: v") + volume);
    var vm = Claims.resolve(objects.vms().getFirst(), objects.volumes(), objects.secrets());
    var key = SecretRef.ofObject("PersistentVolume", "v", "key");
    assertThat(vm.disks().getFirst().source())
        .isEqualTo(new RbdSource(MONITORS, "p", "img", new Credentials("u", key)));
    assertThat(objects.secrets().find(key.name(), key.key()).orElseThrow())
        .asString()
        .isEqualTo("c2VjcmV0");
    assertThat(objects.toString()).doesNotContain("c2VjcmV0");
  }

  @Test
  void whatCannotBeFoundIsNamedWithWhatToDo() {
    var missing = refused(disk(""));
    assertThat(missing).hasMessage("disk sda: there is no PersistentVolumeClaim default/c");
    assertThat(missing.code()).isEqualTo(Code.NOT_FOUND);
    assertThat(missing.next()).contains("-f FILE");
    assertThat(refused(disk(""), claim("").replace("name: c", "name: c, namespace: other")))
        .hasMessageContaining("no PersistentVolumeClaim default/c");
    var unbound = refused(disk(""), claim(""), volume(LOCAL));
    assertThat(unbound)
        .hasMessage(
            "disk sda: the claim default/c is not bound to a volume, and no free one that is given fits it");
    assertThat(unbound.next()).contains("spec.volumeName").contains("spec.claimRef");
    assertThat(refused(disk(""), claim(", volumeName: w"), volume(LOCAL)))
        .hasMessageContaining("bound to PersistentVolume w, not given");
    assertThat(
            refused(
                disk(""), claim(", volumeName: v"), volume("claimRef: {name: other}, " + LOCAL)))
        .hasMessage("disk sda: PersistentVolume v is bound to another claim, default/other");
    var twice = volume("claimRef: {name: c}, " + LOCAL);
    assertThat(refused(disk(""), claim(""), twice, twice.replace("name: v", "name: w")))
        .hasMessageContaining("several volumes name the claim default/c as theirs: v, w");
    assertThat(refused(disk(""), claim(", volumeName: v, volumeMode: Block"), volume(LOCAL)))
        .hasMessageContaining("differ in volumeMode");
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "nfs: {server: s, path: /x}|nfs",
        "csi: {driver: ebs.csi.aws.com}|csi with driver ebs.csi.aws.com",
        "flexVolume: {driver: a/b}|flexVolume with driver a/b"
      })
  void anUnknownTypeIsAnErrorThatListsTheKnown(String spec, String shown) {
    var refused = refused(disk(""), claim(", volumeName: v"), volume(spec));
    assertThat(refused.code()).isEqualTo(Code.UNSUPPORTED);
    assertThat(refused).hasMessageEndingWith("cannot use: " + shown);
    assertThat(refused.next()).contains("iscsi, rbd").contains("hostPath");
  }

  @Test
  void aDriverThatCannotWorkSaysWhy() {
    assertThat(refused(disk(", driver: {name: qemu}"), claim(", volumeName: v"), volume(LOCAL)))
        .hasMessageContaining("network drivers, and the volume v is on this machine: /mnt/v");
    var kubelet =
        refused(disk(", driver: {name: kubelet}"), claim(", volumeName: v"), volume(ISCSI));
    assertThat(kubelet).hasMessageContaining("there is none here");
    assertThat(kubelet.next()).contains("driver: {name: qemu}");
  }

  @Test
  void whatMayOnlyBeReadIsNotWritten() {
    var readOnly = claim(", volumeName: v, accessModes: [ReadOnlyMany]");
    for (var access : List.of("", ", access-mode: write-shared")) {
      assertThat(refused(disk(access), readOnly, volume(LOCAL)))
          .hasMessageContaining("claim default/c is ReadOnlyMany, so it cannot be used write-");
    }
    assertThat(resolve(disk(", access-mode: read-shared"), readOnly, volume(LOCAL))).isNotNull();
    assertThat(resolve(disk(", copy: {mode: clone}"), readOnly, volume(LOCAL))).isNotNull();
    var both = claim(", volumeName: v, accessModes: [ReadOnlyMany, ReadWriteOnce]");
    assertThat(resolve(disk(""), both, volume(LOCAL))).isNotNull();
    assertThat(
            refused(
                disk(""),
                claim(", volumeName: v"),
                volume(ISCSI.replace("lun: 3", "readOnly: true"))))
        .hasMessageContaining("the volume v is readOnly");
    assertThat(
            refused(
                disk(", access-mode: write-shared"),
                claim(", volumeName: v, accessModes: [ReadWriteOncePod]"),
                volume(LOCAL)))
        .hasMessageContaining("is ReadWriteOncePod");
  }
}
