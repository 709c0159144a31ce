package dev.platter.e2e;

import dev.platter.lab.CephCluster;
import java.nio.file.Path;
import java.util.List;

/**
 * Every pod and VM of the design documents, and what they name: the examples, with the addresses of
 * real servers, and what the documents say in words only.
 */
final class DocumentManifests {
  private static final String NODE_1 = "[node1]";

  private final PlatterCluster cluster;
  private final StorageServers storage;
  private final String host;

  /** The devices that VMs may name. */
  private final String rawDevice;

  private final String partitioned;

  DocumentManifests(PlatterCluster cluster, StorageServers storage) {
    this.cluster = cluster;
    this.storage = storage;
    this.host = cluster.kube().outside();
    this.rawDevice = storage.device(storage.data("raw"));
    this.partitioned = storage.device(storage.data("partitioned"));
  }

  /** For the list of those that VMs may name. */
  String rawDevices() {
    return (rawDevice + "," + partitioned).replace("/dev/", "");
  }

  List<Manifest> all() {
    return List.of(
        annotations(),
        Manifest.example("pod-disk-driver"),
        Manifest.example("pod-volumes"),
        Manifest.example("pod-files"),
        podCeph(),
        podCephClaim(),
        Manifest.example("pod-raw-device").replacing("/dev/loop0", rawDevice),
        Manifest.example("pod-mounts").replacing("/dev/sdc", partitioned),
        Manifest.example("registry-disk"),
        dataImage(),
        iscsiDisk(),
        claimDisk(),
        claimDriver(),
        copyOnWriteClaim(),
        blockClaimOfCeph(),
        blockClaim(),
        fileSystemClaim(),
        sharedClaims(),
        networkDisks(),
        usageType(),
        virtio(),
        Manifest.of("no-such-pool", vm("nowhere", "", disk("root", marker("golden")))));
  }

  private Manifest annotations() {
    // Two nodes of two CPUs have room for all; the small guest has no file system for files.
    return Manifest.example("pod-annotations")
        .replacing("  namespace: vms\n", "", "cpu: 1500m", "cpu: 200m")
        .replacing("    VirtletFilesFromDataSource: secret/vm-files\n", "");
  }

  private Manifest podCeph() {
    importToCeph(storage.data("rbd-test-image"));
    return Manifest.example("pod-ceph")
        .replacing("AQDTwuVY8rA8HxAAthwOKaQPr0hRc7kCmR/9Qg==", ceph().key())
        .replacing("192.0.2.1:6789", ceph().monitor())
        .replacing("User: libvirt", "User: " + ceph().user(), "libvirt-pool", ceph().pool());
  }

  private Manifest podCephClaim() {
    importToCeph(storage.data("rbd-test-image-pv"));
    return Manifest.example("pod-ceph-claim")
        .replacing("AQA1VTpZMnf7ChAAqWQPmvq8pIXPYIDBiRsXeA==", ceph().key())
        .replacing("192.0.2.1:6789", ceph().monitor())
        .replacing("user: libvirt", "user: " + ceph().user(), "libvirt-pool", ceph().pool());
  }

  private CephCluster ceph() {
    return storage.ceph();
  }

  private void importToCeph(Path file) {
    ceph().importRaw(file, file.getFileName().toString());
  }

  /** Anything can be distributed as an image, not only what boots. */
  private Manifest dataImage() {
    cluster.push(storage.data("rpms.raw"), cluster.image("rpms"));
    var disk =
        """
        - type: ContainerRegistryDisk:v1alpha
          source: {name: "%s"}
          target: {device: sdb}
        """
            .formatted(cluster.image("rpms"));
    return Manifest.of("data-image", vm("data-image", "", disk("root", marker("")) + disk));
  }

  private Manifest iscsiDisk() {
    var target = storage.iscsi();
    target.add(storage.data("lun-1"));
    target.add(storage.boot("iscsi-disk"));
    return Manifest.example("iscsi-disk")
        .replacing("iscsi-demo-target", host, "3260", Integer.toString(target.port()))
        .replacing("iqn.2017-01.io.kubevirt:sn.42", target.iqn());
  }

  private Manifest claimDisk() {
    var target = storage.chap();
    target.add(storage.data("chap"));
    target.add(storage.data("lun-2"));
    target.add(storage.boot("claim-disk"));
    // By its name and number a disk is the same at every address.
    return Manifest.example("claim-disk")
        .replacing("192.0.2.1:3260", target.portal(), "lun: 2", "lun: 3")
        .replacing("iqn.2017-01.io.kubevirt:sn.42", target.iqn());
  }

  /** QEMU opens the one, the kubelet the other. */
  private Manifest claimDriver() {
    importToCeph(storage.boot("vm-01"));
    storage.boot("kubelet/disk.img");
    return Manifest.example("claim-driver")
        .replacing("namespace: default", "namespace: claim-driver")
        .replacing("namespace: storage", "namespace: claim-driver")
        .replacing("[\"192.0.2.11:6789\", \"192.0.2.12:6789\"]", "[\"" + ceph().monitor() + "\"]")
        .replacing("pool: kube", "pool: " + ceph().pool(), "user: kube", "user: " + ceph().user())
        .replacing(
            "name: kubelet\n        source:\n          name: vm-01-disks",
            "name: kubelet\n        source:\n          name: vm-01-mounted")
        .and(cephSecret("ceph-kube"))
        .and(directoryClaim("vm-01-mounted", "ReadWriteOnce", "kubelet"));
  }

  private String cephSecret(String name) {
    return """
    apiVersion: v1
    kind: Secret
    metadata: {name: %s}
    stringData: {key: "%s"}
    """
        .formatted(name, ceph().key());
  }

  /** There is no ceph-csi here, so the volume is one without it. */
  private Manifest copyOnWriteClaim() {
    importToCeph(storage.boot("golden"));
    return Manifest.example("copy-on-write-claim")
        .without("PersistentVolume")
        .without("ConfigMap")
        .without("Secret")
        .and(cephSecret("ceph"))
        .and(cephVolume("pvc-0d5a9a3a", "ReadOnlyMany", "golden", "ceph", ""));
  }

  private String cephVolume(String name, String mode, String image, String secret, String more) {
    return """
    apiVersion: v1
    kind: PersistentVolume
    metadata: {name: %s}
    spec:
      accessModes: [%s]
      capacity: {storage: 10Gi}
      volumeMode: Block
      %s
      rbd:
        image: %s
        monitors: ["%s"]
        pool: %s
        user: %s
        secretRef: {name: %s}
    """
        .formatted(name, mode, more, image, ceph().monitor(), ceph().pool(), ceph().user(), secret);
  }

  /** A block claim for a persistent root, whose volume names it. */
  private Manifest blockClaimOfCeph() {
    importToCeph(storage.boot("tstimg"));
    var claimRef = "claimRef: {name: ceph-block-pvc, namespace: ceph-block}";
    return Manifest.of(
            "ceph-block",
            cephVolume("test-block-pv", "ReadWriteOnce", "tstimg", "ceph-admin", claimRef))
        .and(cephSecret("ceph-admin"))
        .and(
            """
            apiVersion: v1
            kind: PersistentVolumeClaim
            metadata: {name: ceph-block-pvc}
            spec:
              accessModes: [ReadWriteOnce]
              volumeMode: Block
              resources: {requests: {storage: 10Mi}}
            """)
        .and(vm("ceph-block", "", disk("root", "{pvc: {claimname: ceph-block-pvc}}")));
  }

  private Manifest blockClaim() {
    var device = storage.device(storage.boot("block-claim"));
    return Manifest.example("block-claim")
        .replacing("/dev/disk/by-id/nvme-example-02", device, "[node-1]", NODE_1);
  }

  private Manifest fileSystemClaim() {
    var directory = storage.boot("ssd-01/disk.img").getParent();
    return Manifest.example("filesystem-claim")
        .replacing("/mnt/ssd-01", directory.toString(), "[node-1]", NODE_1);
  }

  /** Two VMs on two nodes with one disk that both write, and one that both read. */
  private Manifest sharedClaims() {
    storage.data("written/disk.img");
    storage.data("read/disk.img");
    var disks =
        disk("root", marker(""))
            + disk("written", "{pvc: written}\n  access-mode: write-shared")
            + disk("read", "{pvc: read}\n  access-mode: read-shared");
    var look =
        "until dd if=$(disk written) bs=512 count=1 2>/dev/null | grep -q tulip; do"
            + " echo 3 >/proc/sys/vm/drop_caches; sleep 1; done; echo seen";
    return Manifest.of("shared-claims", directoryClaim("written", "ReadWriteMany", "written"))
        .and(directoryClaim("read", "ReadOnlyMany", "read"))
        .and(vm("writer", on("node1", "echo tulip | dd of=$(disk written) conv=fsync"), disks))
        .and(vm("reader", on("node2", look), disks));
  }

  private static String on(String node, String command) {
    return """
      nodeSelector: {kubernetes.io/hostname: %s}
      cloudInit:
        userData: |
          #cloud-config
          #marker: %s
    """
        .formatted(node, command);
  }

  /** A directory of this machine is one on all nodes, as on a file server. */
  private String directoryClaim(String name, String mode, String directory) {
    var file = storage.path(directory + "/disk.img");
    return """
    apiVersion: v1
    kind: PersistentVolume
    metadata: {name: %1$s}
    spec:
      accessModes: [%2$s]
      capacity: {storage: 8Mi}
      storageClassName: by-hand
      local: {path: %3$s}
      nodeAffinity:
        required:
          nodeSelectorTerms:
          - matchExpressions:
            - {key: kubernetes.io/hostname, operator: In, values: [node1, node2]}
    ---
    apiVersion: v1
    kind: PersistentVolumeClaim
    metadata: {name: %1$s}
    spec:
      accessModes: [%2$s]
      storageClassName: by-hand
      volumeName: %1$s
      resources: {requests: {storage: 8Mi}}
    """
        .formatted(name, mode, file.getParent());
  }

  /**
   * The secret in a file and the socket are a single machine's, and so are certificates for NBD.
   */
  private Manifest networkDisks() {
    importToCeph(storage.data("data"));
    var url = storage.web().url("disk.raw");
    storage.data("web/disk.raw");
    storage.data("gluster/brick/vms/data.raw");
    var nbd = "host: {name: %s, port: %d}";
    return Manifest.example("network-disks")
        .replacing("host: {name: 192.0.2.1}", nbd.formatted(host, storage.chap().port()))
        .replacing(
            "iqn.2017-01.com.example:target", storage.chap().iqn(), "user: vm", "user: vm-user")
        .replacing("[\"192.0.2.2\", \"[2001:db8::2]:3300\"]", "[\"" + ceph().monitor() + "\"]")
        .replacing(
            "pool: disks", "pool: " + ceph().pool(), "user: libvirt", "user: " + ceph().user())
        .replacing("{file: /etc/platter/ceph.key}", "{name: ceph, key: key}")
        .replacing("host: 192.0.2.3", nbd.formatted(host, storage.nbd(storage.data("export"))))
        .replacing(", tls: true", "")
        .replacing(
            "socket: /run/nbd.sock", nbd.formatted(host, storage.nbd(storage.data("socket"))))
        .replacing("192.0.2.4, volume: disks", host + ", volume: " + storage.gluster().name())
        .replacing("https://www.example/disk.raw", url, "http://www.example/disk.raw", url)
        .and(cephSecret("ceph"));
  }

  /** A file of the machine is no source on a cluster. */
  private Manifest usageType() {
    storage.data("database/disk.img");
    return Manifest.example("usage-type")
        .replacing("{file: /srv/templates/debian.qcow2}", "{image: \"" + cluster.marker() + "\"}")
        .replacing("{file: /srv/templates/database.raw}", "{pvc: database}")
        .and(directoryClaim("database", "ReadOnlyMany", "database"));
  }

  private Manifest virtio() {
    storage.data("virtio-data/disk.img");
    storage.data("virtio-master/disk.img");
    return Manifest.example("virtio")
        .replacing("  namespace: team-a\n", "")
        .replacing("oci:/srv/images:debian", cluster.marker())
        .replacing("{file: {path: /srv/disks/data.img, format: raw}}", "{pvc: virtio-data}")
        .replacing("{file: /srv/disks/master.raw}", "{pvc: virtio-master}")
        .and(directoryClaim("virtio-data", "ReadWriteMany", "virtio-data"))
        .and(directoryClaim("virtio-master", "ReadOnlyMany", "virtio-master"));
  }

  private String marker(String usageType) {
    var image = "{image: \"" + cluster.marker() + "\"}";
    return usageType.isEmpty()
        ? image
        : image + "\n  copy: {mode: copy-on-write, usage-type: " + usageType + "}";
  }

  private static String disk(String name, String source) {
    return "- name: %s\n  source: %s\n".formatted(name, source);
  }

  private static String vm(String name, String more, String disks) {
    return """
    apiVersion: platter.dev/v1alpha1
    kind: VirtualMachine
    metadata: {name: %s}
    spec:
    %s
      domain:
        memory: {guest: 96Mi}
        devices:
          disks:
    %s
    """
        .formatted(name, more.stripTrailing(), disks.indent(6).stripTrailing());
  }
}
