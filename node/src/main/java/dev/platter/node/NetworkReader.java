package dev.platter.node;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.platter.block.nbd.DiskCopy;
import dev.platter.model.PlatterException;
import dev.platter.model.PlatterException.Code;
import dev.platter.model.SecretData;
import dev.platter.node.durable.Cancellation;
import dev.platter.node.network.NbdDisk;
import dev.platter.node.network.OpenDisk;
import dev.platter.node.network.RemoteCopy;
import dev.platter.node.network.RemoteDisk;
import dev.platter.node.network.SecretValue;
import dev.platter.node.network.Target;
import dev.platter.node.network.WebFileDisk;
import dev.platter.node.web.WebRefusal;
import dev.platter.plan.NetworkDisk;
import dev.platter.plan.QemuDriver;
import dev.platter.plan.StateLayout;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.net.UnixDomainSocketAddress;
import java.nio.channels.ClosedByInterruptException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;

/**
 * Reads network disks before QEMU itself opens them: with QEMU's own drivers, as the guest will. An
 * NBD server is asked directly, and so is a web server: QEMU's driver for it was seen to stand
 * still when much is asked at once. (Who signs for https servers is QEMU's to know, unless the disk
 * says.) RBD images are copied by QEMU itself.
 */
final class NetworkReader {
  private static final ObjectMapper JSON = new ObjectMapper();

  private final StateLayout layout;
  private final ServerNames names;
  private final Progress progress;

  NetworkReader(StateLayout layout, ServerNames names, Progress progress) {
    this.layout = layout;
    this.names = names;
    this.progress = progress;
  }

  /** How large a copy gets of a disk of this size. */
  interface Sizing {
    long of(long size);
  }

  /** The size in bytes. */
  long size(NetworkDisk disk, SecretData secrets) throws IOException {
    try (var open = open(disk, secrets)) {
      return open.size();
    }
  }

  /** Writes all bytes into a new sparse file, which is on the disk when this returns. */
  void copy(NetworkDisk disk, SecretData secrets, Path to, Sizing sizing) throws IOException {
    DiskCopy.Progress told = (done, all) -> progress.bytes("copy", done, all);
    if (disk.protocol().equals("rbd")) {
      try (var copy = begin(disk, secrets, to)) {
        copy.finish(sizing.of(copy.size()), told);
      }
      return;
    }
    try (var open = open(disk, secrets)) {
      DiskCopy.toNewFile(open, to, sizing.of(open.size()), told);
    }
  }

  private RemoteCopy begin(NetworkDisk written, SecretData secrets, Path to) throws IOException {
    var disk = names.pinned(written);
    return opened(disk, () -> RemoteCopy.begin(target(disk, secrets), to));
  }

  private OpenDisk open(NetworkDisk written, SecretData secrets) throws IOException {
    var disk = names.pinned(written);
    return opened(disk, () -> open(disk, secrets, layout.run()));
  }

  private OpenDisk open(NetworkDisk disk, SecretData secrets, Path run) throws IOException {
    if (disk.web() != null || disk.protocol().equals("http")) {
      return WebFileDisk.open(WebDisks.access(disk, secrets), run);
    }
    if (disk.protocol().equals("nbd") && !disk.tls()) {
      return NbdDisk.open(address(disk), disk.name());
    }
    return RemoteDisk.open(target(disk, secrets), run);
  }

  private interface Opening<T> {
    T open() throws IOException;
  }

  private static <T> T opened(NetworkDisk disk, Opening<T> opening) throws IOException {
    try {
      return opening.open();
    } catch (ClosedByInterruptException e) {
      throw Cancellation.cancelled();
    } catch (WebRefusal e) {
      throw e.told();
    } catch (FileAlreadyExistsException e) {
      throw e; // Ours is what is not there; this must not be deleted.
    } catch (IOException e) {
      throw PlatterException.of(
          Code.UNAVAILABLE,
          disk + " cannot be read: " + e.getMessage(),
          "Check that the server runs, that the disk has this name there, and the user and secret.",
          e);
    }
  }

  private static SocketAddress address(NetworkDisk disk) {
    if (disk.socket() != null) {
      return UnixDomainSocketAddress.of(disk.socket());
    }
    var host = disk.hosts().getFirst();
    return new InetSocketAddress(host.host(), host.port());
  }

  private Target target(NetworkDisk disk, SecretData secrets) throws IOException {
    var login = disk.login();
    if (login == null) {
      return new Target(options(disk), List.of(), disk.tls() ? List.of(certificates()) : List.of());
    }
    var value = Secrets.password(disk.protocol(), login.from(), secrets);
    try {
      return new Target(options(disk), List.of(new SecretValue(QemuDriver.SECRET, value)));
    } finally {
      Arrays.fill(value, (byte) 0);
    }
  }

  /** In QEMU's options a comma is written twice. */
  private String certificates() {
    return "tls-creds-x509,endpoint=client,verify-peer=on,id="
        + QemuDriver.CERTIFICATES
        + ",dir="
        + layout.nbdCertificates().toString().replace(",", ",,");
  }

  private static String options(NetworkDisk disk) {
    try {
      return JSON.writeValueAsString(QemuDriver.options(disk));
    } catch (JsonProcessingException e) {
      throw new IllegalStateException("maps and lists always make JSON", e);
    }
  }
}
