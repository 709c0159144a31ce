package dev.platter.node;

import dev.platter.image.oci.OciLayoutWriter;
import dev.platter.image.oci.Platform;
import dev.platter.lab.CephCluster;
import dev.platter.lab.Certificates;
import dev.platter.lab.FileServer;
import dev.platter.lab.IscsiTarget;
import dev.platter.lab.LoopDevice;
import dev.platter.lab.LoopMount;
import dev.platter.lab.NbdExport;
import dev.platter.lab.Shell;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/** Every kind of source, on real servers, filled with bytes that the test chose. */
final class MatrixStorage implements AutoCloseable {
  static final String CHAP_PASSWORD = "chap-Secret-93641";

  private final Path work;
  private final CephCluster ceph = CephCluster.shared();
  private final IscsiTarget iscsi;
  private final FileServer web;
  private final Deque<AutoCloseable> open = new ArrayDeque<>();
  private final StringBuilder claims = new StringBuilder();
  private final Map<String, Kind> kinds = new LinkedHashMap<>();

  /** One kind of source. */
  interface Kind {
    /** Stores a disk; returns the {@code source} of a VM's disk, in YAML. */
    String store(String name, Path content) throws IOException;

    /** What the disk holds now, as a raw file. */
    Path contents(String name) throws IOException;
  }

  /**
   * @param pki directories that get what it takes to know the TLS server
   */
  MatrixStorage(Path work, Path... pki) throws IOException {
    this.work = work;
    this.iscsi =
        IscsiTarget.start(
            Files.createDirectory(work.resolve("iscsi")),
            new IscsiTarget.Chap("vm", CHAP_PASSWORD));
    open.push(iscsi);
    this.web = FileServer.http(Files.createDirectory(work.resolve("web")));
    open.push(web);
    kinds.put("image", new Image());
    kinds.put("file, raw", new RawFile());
    kinds.put("file, qcow2", new Qcow2File());
    kinds.put("iscsi, CHAP", new Iscsi());
    kinds.put("rbd, cephx", new Rbd());
    kinds.put("nbd, nbdkit on a socket", new Nbdkit());
    kinds.put("nbd, qemu-nbd on TCP", new QemuNbd());
    kinds.put("http", new Http());
    if (pki.length > 0) {
      kinds.put("nbd, qemu-nbd with TLS", new QemuNbdTls(certificates(pki)));
    }
    kinds.put("pvc, iscsi", new IscsiClaim());
    kinds.put("pvc, ceph-csi", new CephClaim());
    for (var type : LoopMount.Type.values()) {
      if (type.isPossible()) {
        kinds.put("pvc, local, " + type.name().toLowerCase(Locale.ROOT), fileSystem(type));
      }
    }
    if (LoopDevice.isPossible()) {
      kinds.put("pvc, local, block device", new BlockClaim());
    }
  }

  private Certificates certificates(Path... pki) throws IOException {
    var made = Certificates.make(Files.createDirectory(work.resolve("certificates")));
    for (var directory : pki) {
      Files.createDirectories(directory);
      Files.copy(made.ca(), directory.resolve("ca-cert.pem"));
      for (var file : List.of("client-cert.pem", "client-key.pem")) {
        Files.copy(made.client().resolve(file), directory.resolve(file));
      }
    }
    return made;
  }

  private Kind fileSystem(LoopMount.Type type) throws IOException {
    var directory = Files.createDirectory(work.resolve(type.name()));
    var mount = LoopMount.make(directory, type, 400 << 20);
    open.push(mount);
    return new FileSystemClaim(mount.path());
  }

  Map<String, Kind> kinds() {
    return kinds;
  }

  /** The objects that the sources refer to. */
  String objects() {
    return secrets() + claims;
  }

  private String claim(String name, String mode, String volume) {
    claims.append(
        """
        ---
        kind: PersistentVolumeClaim
        metadata: {name: %1$s}
        spec: {volumeName: %1$s, volumeMode: %2$s, accessModes: [ReadWriteMany], resources: {requests: {storage: 3Mi}}}
        ---
        kind: PersistentVolume
        metadata: {name: %1$s}
        spec: {volumeMode: %2$s, capacity: {storage: 3Mi}, accessModes: [ReadWriteMany], %3$s}
        """
            .formatted(name, mode, volume));
    return "{pvc: {claimname: " + name + "}}";
  }

  String secrets() {
    return """
    ---
    kind: ConfigMap
    metadata: {name: ceph-csi-config}
    data: {config.json: '[{"clusterID": "lab", "monitors": ["%3$s:%4$d"]}]'}
    ---
    kind: Secret
    metadata: {name: chap}
    stringData: {node.session.auth.username: vm, node.session.auth.password: %1$s}
    ---
    kind: Secret
    metadata: {name: ceph}
    stringData: {key: %2$s, userID: %5$s, userKey: %2$s}
    """
        .formatted(CHAP_PASSWORD, ceph.key(), ceph.host(), ceph.port(), ceph.user());
  }

  String cephKey() {
    return ceph.key();
  }

  private Path copy(String name, Path content) throws IOException {
    return Files.copy(content, work.resolve(name + ".raw"));
  }

  private Path raw(String name) {
    return work.resolve(name + ".raw");
  }

  private final class Image implements Kind {
    @Override
    public String store(String name, Path content) throws IOException {
      var layout = work.resolve("layout");
      new OciLayoutWriter(layout).add(name, Platform.LINUX_AMD64, "disk.raw", copy(name, content));
      return "{image: \"oci:" + layout + ":" + name + "\"}";
    }

    /** An image cannot change; the digest that pins it says so. */
    @Override
    public Path contents(String name) {
      return raw(name);
    }
  }

  private final class RawFile implements Kind {
    @Override
    public String store(String name, Path content) throws IOException {
      return "{file: " + copy(name, content) + "}";
    }

    @Override
    public Path contents(String name) {
      return raw(name);
    }
  }

  private final class Qcow2File implements Kind {
    @Override
    public String store(String name, Path content) {
      Shell.run("qemu-img", "convert", "-f", "raw", "-O", "qcow2", content, file(name));
      return "{file: " + file(name) + "}";
    }

    @Override
    public Path contents(String name) {
      Shell.run("qemu-img", "convert", "-f", "qcow2", "-O", "raw", file(name), raw(name));
      return raw(name);
    }

    private Path file(String name) {
      return work.resolve(name + ".qcow2");
    }
  }

  private final class Iscsi implements Kind {
    @Override
    public String store(String name, Path content) throws IOException {
      return "{iscsi: {host: {name: %s, port: %d}, portal: '%s', lun: %d, auth: {user: vm, secret: {name: chap}}}}"
          .formatted(iscsi.host(), iscsi.port(), iscsi.iqn(), iscsi.add(copy(name, content)));
    }

    @Override
    public Path contents(String name) {
      return raw(name);
    }
  }

  private final class Rbd implements Kind {
    @Override
    public String store(String name, Path content) {
      ceph.importRaw(content, name);
      return "{rbd: {monitors: ['%s:%d'], pool: %s, image: %s, auth: {user: %s, secret: {name: ceph}}}}"
          .formatted(ceph.host(), ceph.port(), ceph.pool(), name, ceph.user());
    }

    @Override
    public Path contents(String name) {
      ceph.export(name, raw(name));
      return raw(name);
    }
  }

  private final class Nbdkit implements Kind {
    @Override
    public String store(String name, Path content) throws IOException {
      var socket = Files.createDirectory(work.resolve(name)).resolve("s");
      open.push(NbdExport.nbdkit(copy(name, content), new NbdExport.Address.Unix(socket)));
      return "{nbd: {socket: " + socket + "}}";
    }

    @Override
    public Path contents(String name) {
      return raw(name);
    }
  }

  private final class QemuNbd implements Kind {
    @Override
    public String store(String name, Path content) throws IOException {
      var address = (NbdExport.Address.Tcp) NbdExport.Address.tcp();
      open.push(NbdExport.qemuNbd(copy(name, content), "raw", name, address));
      return "{nbd: {host: {name: localhost, port: %d}, export: %s}}"
          .formatted(address.port(), name);
    }

    @Override
    public Path contents(String name) {
      return raw(name);
    }
  }

  private final class QemuNbdTls implements Kind {
    private final Certificates certificates;

    QemuNbdTls(Certificates certificates) {
      this.certificates = certificates;
    }

    @Override
    public String store(String name, Path content) throws IOException {
      var address = (NbdExport.Address.Tls) NbdExport.Address.tls(certificates);
      open.push(NbdExport.qemuNbd(copy(name, content), "raw", name, address));
      return "{nbd: {host: {name: localhost, port: %d}, export: %s, tls: true}}"
          .formatted(address.port(), name);
    }

    @Override
    public Path contents(String name) {
      return raw(name);
    }
  }

  private final class IscsiClaim implements Kind {
    @Override
    public String store(String name, Path content) throws IOException {
      return claim(
          name,
          "Block",
          "iscsi: {targetPortal: '%s', iqn: '%s', lun: %d, chapAuthSession: true, secretRef: {name: chap}}"
              .formatted(iscsi.portal(), iscsi.iqn(), iscsi.add(copy(name, content))));
    }

    @Override
    public Path contents(String name) {
      return raw(name);
    }
  }

  private final class CephClaim implements Kind {
    @Override
    public String store(String name, Path content) {
      ceph.importRaw(content, name);
      return claim(
          name,
          "Block",
          """
          csi: {driver: rbd.csi.ceph.com, volumeHandle: h-%1$s, volumeAttributes: {clusterID: lab, pool: %2$s, \
          imageName: %1$s}, nodeStageSecretRef: {name: ceph, namespace: default}}"""
              .formatted(name, ceph.pool()));
    }

    @Override
    public Path contents(String name) {
      ceph.export(name, raw(name));
      return raw(name);
    }
  }

  private final class FileSystemClaim implements Kind {
    private final Path mount;

    FileSystemClaim(Path mount) {
      this.mount = mount;
    }

    @Override
    public String store(String name, Path content) throws IOException {
      Files.copy(content, Files.createDirectory(mount.resolve(name)).resolve("disk.img"));
      return claim(name, "Filesystem", "local: {path: " + mount.resolve(name) + "}");
    }

    @Override
    public Path contents(String name) {
      return mount.resolve(name).resolve("disk.img");
    }
  }

  private final class BlockClaim implements Kind {
    @Override
    public String store(String name, Path content) throws IOException {
      var device = LoopDevice.attach(copy(name, content));
      open.push(device);
      return claim(name, "Block", "local: {path: " + device.path() + "}");
    }

    @Override
    public Path contents(String name) {
      return raw(name);
    }
  }

  private final class Http implements Kind {
    @Override
    public String store(String name, Path content) throws IOException {
      Files.copy(content, work.resolve("web").resolve(name));
      return "{http: '" + web.url(name) + "'}";
    }

    @Override
    public Path contents(String name) {
      return work.resolve("web").resolve(name);
    }
  }

  @Override
  public void close() throws Exception {
    while (!open.isEmpty()) {
      open.pop().close();
    }
  }
}
