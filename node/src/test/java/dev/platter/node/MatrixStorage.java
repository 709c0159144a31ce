package dev.platter.node;

import dev.platter.image.oci.OciLayoutWriter;
import dev.platter.image.oci.Platform;
import dev.platter.lab.CephCluster;
import dev.platter.lab.FileServer;
import dev.platter.lab.IscsiTarget;
import dev.platter.lab.NbdExport;
import dev.platter.lab.Shell;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.LinkedHashMap;
import java.util.Map;

/** Every kind of source, on real servers, filled with bytes that the test chose. */
final class MatrixStorage implements AutoCloseable {
  static final String CHAP_PASSWORD = "chap-Secret-93641";

  private final Path work;
  private final CephCluster ceph = CephCluster.shared();
  private final IscsiTarget iscsi;
  private final FileServer web;
  private final Deque<AutoCloseable> open = new ArrayDeque<>();
  private final Map<String, Kind> kinds = new LinkedHashMap<>();

  /** One kind of source. */
  interface Kind {
    /** Stores a disk; returns the {@code source} of a VM's disk, in YAML. */
    String store(String name, Path content) throws IOException;

    /** What the disk holds now, as a raw file. */
    Path contents(String name) throws IOException;
  }

  MatrixStorage(Path work) throws IOException {
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
  }

  Map<String, Kind> kinds() {
    return kinds;
  }

  /** The objects that the sources refer to. */
  String secrets() {
    return """
    ---
    kind: Secret
    metadata: {name: chap}
    stringData: {node.session.auth.password: %s}
    ---
    kind: Secret
    metadata: {name: ceph}
    stringData: {key: %s}
    """
        .formatted(CHAP_PASSWORD, ceph.key());
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

  /** All text that this storage must not be found in. */
  byte[][] secretBytes() {
    return new byte[][] {
      CHAP_PASSWORD.getBytes(StandardCharsets.UTF_8), ceph.key().getBytes(StandardCharsets.UTF_8)
    };
  }

  @Override
  public void close() throws Exception {
    while (!open.isEmpty()) {
      open.pop().close();
    }
  }
}
