package dev.platter.e2e;

import static dev.platter.e2e.PlatterCluster.shared;
import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.time.Duration;
import java.time.Instant;
import java.util.Map;
import java.util.TreeMap;
import java.util.regex.Pattern;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * Every pod and VM that the design documents show, applied to a real cluster all at once, each in a
 * namespace of its own, and seen in its guest's console. Afterwards the nodes have nothing of them.
 *
 * <p>Not here: uploads and populators. Identities are in {@link IdentityTest}, groups and {@code
 * container:} sources in {@link ClusterTest}.
 */
class DocumentsTest {
  private static final String LABEL = "platter.test=documents";

  /** For all of them to boot, on a machine with other things to do. */
  private static final Duration PATIENCE = Duration.ofMinutes(4);

  private static Instant applied;

  private static StorageServers storage;
  private static final Map<String, AssertionError> REFUSED = new TreeMap<>();

  @BeforeAll
  static void applyAll() throws IOException {
    storage =
        new StorageServers(
            shared().kube().outside(), Files.createTempDirectory(shared().work(), "storage"));
    var documents = new DocumentManifests(shared(), storage);
    shared()
        .install(
            "--raw-devices",
            documents.rawDevices(),
            "--pool",
            "fast=/var/lib/platter/pools/ssd",
            "--pool",
            "slow=/var/lib/platter/pools/rust");
    var manifests = documents.all();
    for (var manifest : manifests) {
      shared().kubectl("create", "namespace", manifest.namespace());
      shared().kubectl("label", "namespace", manifest.namespace(), LABEL);
    }
    for (var manifest : manifests) {
      var in = "--namespace=" + manifest.namespace();
      shared().kubectl(in, "wait", "--for=create", "serviceaccount/default", "--timeout=60s");
      try {
        shared().kube().kubectlReading(manifest.text(), in, "apply", "-f", "-");
      } catch (AssertionError e) {
        // The others are tried all the same.
        REFUSED.put(manifest.namespace(), e);
      }
    }
    applied = Instant.now();
  }

  @AfterAll
  static void nothingIsLeft() {
    try {
      shared().kubectl("delete", "namespace", "-l", LABEL, "--timeout=180s");
      shared().kubectl("delete", "pv", "--all", "--timeout=60s");
      for (var node : shared().kube().nodes()) {
        shared().await("left on " + node.name(), () -> shared().leftOn(node), String::isEmpty);
      }
      assertThat(shared().kubectl("-n", "platter-system", "get", "leases", "-o", "name"))
          .doesNotContain("disk-");
    } finally {
      storage.close();
    }
  }

  /** A file's name in braces is the hash of its first mebibyte, as the guest must see it. */
  @ParameterizedTest(name = "{0}: {1}: {2}")
  @CsvSource(
      delimiter = '|',
      textBlock =
          """
          # of                | VM            | in its console
          pod-disk-driver     | cirros-vm     | @@DISK vda serial=root
          pod-volumes         | test-vm-pod   | @@DISK \\S+ serial=vol1 size=1024000000 ro=0
          pod-volumes         | test-vm-pod   | @@DISK \\S+ serial=vol2 size=1024000000 ro=0
          pod-ceph            | cirros-vm-rbd | @@DISK \\S+ serial=test .* sha1M={rbd-test-image}
          pod-ceph-claim      | cirros-vm-rbd | @@DISK \\S+ serial=test .* sha1M={rbd-test-image-pv}
          pod-raw-device      | test-vm-pod   | @@DISK \\S+ serial=raw .* sha1M={raw}
          pod-mounts          | ubuntu-vm     | @@DISK \\S+ serial=raw .* sha1M={partitioned}
          pod-mounts          | ubuntu-vm     | @@CIDATA user-data: .*HARDDISK_docker-part1.*/var/lib/docker
          pod-mounts          | ubuntu-vm     | @@CIDATA user-data: .*HARDDISK_raw-part2.*/mnt/raw
          pod-files           | files-vm      | @@CIDATA user-data: .*"/etc/config/special.level"
          pod-files           | files-vm      | @@CIDATA user-data: .*"/etc/ssh-keys/ssh-privatekey"
          pod-files           | files-vm      | @@CIDATA user-data: .*"/etc/all/config/level"
          pod-files           | files-vm      | @@CIDATA user-data: .*/var/run/secrets/kubernetes.io/serviceaccount/token"
          pod-annotations     | annotated-vm  | @@DMI uuid=53008994-44c0-4017-ad44-9c49758083da
          pod-annotations     | annotated-vm  | @@DISK sda serial=root size=4294967296
          pod-annotations     | annotated-vm  | @@CIDATA dev=\\S+ label=config-2
          pod-annotations     | sourced-vm    | @@CIDATA user-data: .*"testuser"
          pod-annotations     | scripted-vm   | @@CIDATA user-data: .*it.*s here
          registry-disk       | registry-disk | @@DISK sda serial=sda
          data-image          | data-image    | @@DISK \\S+ serial=sdb .* sha1M={rpms.raw}
          iscsi-disk          | iscsi-disk    | @@DISK sda serial=sda .* sha1M={iscsi-disk}
          claim-disk          | claim-disk    | @@DISK sda serial=sda .* sha1M={claim-disk}
          claim-driver        | claim-driver  | @@DISK sda serial=sda .* sha1M={vm-01}
          claim-driver        | claim-driver-2 | @@DISK sda serial=sda .* sha1M={kubelet/disk.img}
          copy-on-write-claim | copy-on-write-claim | @@DISK sda serial=sda size=\\d+ ro=0 .* sha1M={golden}
          ceph-block          | ceph-block    | @@DISK sda serial=root .* sha1M={tstimg}
          block-claim         | block-claim   | @@DISK sda serial=sda .* sha1M={block-claim}
          filesystem-claim    | filesystem-claim | @@DISK sda serial=sda .* sha1M={ssd-01/disk.img}
          shared-claims       | writer        | @@DISK \\S+ serial=read size=\\d+ ro=1 .* sha1M={read/disk.img}
          shared-claims       | reader        | @@DISK \\S+ serial=read size=\\d+ ro=1 .* sha1M={read/disk.img}
          shared-claims       | reader        | @@OUT seen
          network-disks       | network-disks | @@DISK \\S+ serial=chap .* sha1M={chap}
          network-disks       | network-disks | @@DISK \\S+ serial=ceph .* sha1M={data}
          network-disks       | network-disks | @@DISK \\S+ serial=export .* sha1M={export}
          network-disks       | network-disks | @@DISK \\S+ serial=socket .* sha1M={socket}
          network-disks       | network-disks | @@DISK \\S+ serial=gluster .* sha1M={gluster/brick/vms/data.raw}
          network-disks       | network-disks | @@DISK \\S+ serial=web size=\\d+ ro=1 .* sha1M={web/disk.raw}
          network-disks       | network-disks | @@DISK \\S+ serial=web-clone size=\\d+ ro=0 .* sha1M={web/disk.raw}
          usage-type          | usage-type    | @@DISK \\S+ serial=database .* sha1M={database/disk.img}
          usage-type          | usage-type    | @@DISK \\S+ serial=archive size=536870912000
          virtio              | virtio        | @@DISK vdc serial=vdc .* sha1M={virtio-data/disk.img}
          virtio              | virtio        | @@DISK vdb serial=vdb .* sha1M={virtio-master/disk.img}
          virtio              | virtio        | @@CIDATA dev=\\S+ label=config-2
          """)
  void eachIsSeenInItsGuest(String manifest, String vm, String line) {
    var wanted =
        Pattern.compile("\\{([^}]+)}")
            .matcher(line)
            .replaceAll(hash -> storage.hash(hash.group(1)));
    assertThat(ready(manifest, vm))
        .containsPattern(Pattern.compile("^" + wanted, Pattern.MULTILINE));
  }

  /** Its console. */
  private static String ready(String manifest, String vm) {
    var refused = REFUSED.get(manifest);
    if (refused != null) {
      throw refused;
    }
    var left = Duration.between(Instant.now(), applied.plus(PATIENCE));
    return shared().awaitLog(manifest, vm, "^@@READY", left.isNegative() ? Duration.ZERO : left);
  }

  @Test
  void aVmWhoseUsageTypeNoNodeHasSaysWhyItDoesNotRun() {
    shared()
        .await(
            "nowhere does not wait",
            () ->
                shared()
                    .kubectl(
                        "-n", "no-such-pool", "get", "vm", "nowhere", "-o", "jsonpath={.status}"),
            text ->
                text.contains("\"phase\":\"Scheduling\"")
                    && text.contains("node affinity/selector"));
    assertThat(shared().kubectl("-n", "no-such-pool", "describe", "pod", "nowhere"))
        .containsPattern("Node-Selectors: +\\S+\\s+usage.platter.dev/golden=true");
  }

  @Test
  void whatAVmWritesIsInThePoolOfItsUsageType() {
    ready("copy-on-write-claim", "copy-on-write-claim");
    ready("usage-type", "usage-type");
    var fast = new StringBuilder();
    var slow = new StringBuilder();
    for (var node : shared().kube().nodes()) {
      fast.append(node.exec("ls", "/var/lib/platter/pools/ssd"));
      slow.append(node.exec("ls", "/var/lib/platter/pools/rust"));
    }
    assertThat(fast.toString()).contains("-sda.qcow2", "-root", "-database");
    assertThat(slow.toString()).contains("-archive").doesNotContain("-root");
  }
}
