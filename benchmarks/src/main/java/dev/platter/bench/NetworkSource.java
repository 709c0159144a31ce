package dev.platter.bench;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.platter.lab.CephCluster;
import dev.platter.lab.IscsiTarget;
import dev.platter.lab.NbdExport;
import dev.platter.model.Endpoint;
import dev.platter.model.SecretRef;
import dev.platter.node.network.NbdDisk;
import dev.platter.node.network.OpenDisk;
import dev.platter.node.network.RemoteCopy;
import dev.platter.node.network.RemoteDisk;
import dev.platter.node.network.SecretValue;
import dev.platter.node.network.Target;
import dev.platter.plan.NetworkDisk;
import dev.platter.plan.QemuDriver;
import java.io.IOException;
import java.net.UnixDomainSocketAddress;
import java.nio.file.Path;
import java.util.Base64;
import java.util.List;
import java.util.UUID;

/**
 * A disk that a server offers, as we and as the rivals name it.
 *
 * @param uri as QEMU's tools take it, and those of libnbd if the server speaks NBD
 */
record NetworkSource(
    String name, SampleDisk disk, NetworkDisk plan, List<SecretValue> secrets, String uri) {
  private static final ObjectMapper JSON = new ObjectMapper();

  static NetworkSource nbd(String name, SampleDisk disk, NbdExport export) {
    if (!(export.address() instanceof NbdExport.Address.Unix(var socket))) {
      throw new IllegalArgumentException(export.uri() + " is not on a unix socket");
    }
    var plan = new NetworkDisk("nbd", export.name(), List.of(), socket.toString(), false, null);
    return new NetworkSource(name, disk, plan, List.of(), export.uri());
  }

  static NetworkSource iscsi(String name, SampleDisk disk, IscsiTarget server) {
    var lun = server.add(disk.raw());
    var hosts = List.of(new Endpoint(server.host(), server.port()));
    var plan = new NetworkDisk("iscsi", server.iqn() + "/" + lun, hosts, null, false, null);
    return new NetworkSource(name, disk, plan, List.of(), server.url(lun));
  }

  static NetworkSource rbd(String name, SampleDisk disk, CephCluster ceph) {
    var image = "copied";
    ceph.importRaw(disk.raw(), image);
    // Who makes a Target decides where the key comes from; that of the plan is not asked for.
    var login = new NetworkDisk.Login(ceph.user(), new UUID(0, 0), SecretRef.ofFile("/unused"));
    var hosts = List.of(new Endpoint(ceph.host(), ceph.port()));
    var plan = new NetworkDisk("rbd", ceph.pool() + "/" + image, hosts, null, false, login);
    var key = new SecretValue(QemuDriver.SECRET, Base64.getDecoder().decode(ceph.key()));
    return new NetworkSource(name, disk, plan, List.of(key), ceph.url(image));
  }

  boolean speaksNbd() {
    return plan.protocol().equals("nbd");
  }

  String options() {
    try {
      return JSON.writeValueAsString(QemuDriver.options(plan));
    } catch (JsonProcessingException e) {
      throw new IllegalStateException("maps and lists always make JSON", e);
    }
  }

  /** As the node opens it: an NBD server is asked directly, others through QEMU's drivers. */
  OpenDisk open(Path run) throws IOException {
    var socket = plan.socket();
    return speaksNbd() && socket != null
        ? NbdDisk.open(UnixDomainSocketAddress.of(socket), plan.name())
        : RemoteDisk.open(new Target(options(), secrets), run);
  }

  /** As the node copies it: an RBD image is QEMU's to copy. */
  void copy(Path run, Path to) throws IOException {
    if (plan.protocol().equals("rbd")) {
      CopyOnce.copy(RemoteCopy.begin(new Target(options(), secrets), to));
    } else {
      CopyOnce.copy(open(run), to);
    }
  }

  /** How {@link CopyOnce} is told of it. */
  List<String> arguments() {
    var socket = plan.socket();
    return speaksNbd() && socket != null ? List.of(socket, plan.name()) : List.of(options());
  }
}
