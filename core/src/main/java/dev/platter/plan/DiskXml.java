package dev.platter.plan;

import dev.platter.model.Bus;
import dev.platter.model.Vm;
import dev.platter.plan.PlannedDisk.Link;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;

/**
 * One disk of a libvirt domain.
 *
 * <p>Guests know disks by serial, not by name: on virtio-scsi Linux does not name disks in the
 * order of the XML. Each SCSI disk is a target of its own all the same, since that keeps the order
 * in most boots. The format of every file is stated, down to the end of each chain, so that neither
 * libvirt nor QEMU looks at a header that a guest may have written.
 */
final class DiskXml {
  private final Xml xml;

  DiskXml(Xml xml) {
    this.xml = xml;
  }

  void write(PlannedDisk disk) {
    // libvirt refuses a CD-ROM on the virtio bus; a read-only disk serves as well.
    var cdrom = disk.source().equals(Vm.SEED_DISK) && disk.bus() == Bus.SCSI;
    var top = disk.chain().getFirst();
    xml.open(
        "disk",
        () -> {
          driver(disk, top);
          source(top);
          backing(disk.chain().subList(1, disk.chain().size()));
          xml.empty("target", "dev", disk.device(), "bus", disk.bus().word());
          if (disk.readOnly()) {
            xml.empty("readonly");
          }
          if (disk.shareable()) {
            xml.empty("shareable");
          }
          xml.text("serial", disk.name());
          if (disk.boot()) {
            xml.empty("boot", "order", "1");
          }
          if (disk.bus() == Bus.SCSI) {
            xml.empty(
                "address",
                "type",
                "drive",
                "controller",
                "0",
                "bus",
                "0",
                "target",
                Integer.toString(disk.position()),
                "unit",
                "0");
          }
        },
        "type",
        type(top),
        "device",
        cdrom ? "cdrom" : "disk");
  }

  private void driver(PlannedDisk disk, Link top) {
    var attributes = new ArrayList<String>();
    Collections.addAll(
        attributes, "name", "qemu", "type", top.format().word(), "cache", cache(disk, top));
    if (!disk.readOnly()) {
      Collections.addAll(attributes, "error_policy", "stop", "discard", "unmap");
    }
    // A guest must not see the errors of a server that is away: it waits until it is back.
    if (disk.chain().getLast().network() != null) {
      Collections.addAll(attributes, "rerror_policy", "stop");
    }
    if (disk.copyOnRead()) {
      Collections.addAll(attributes, "copy_on_read", "on");
    }
    xml.empty("driver", attributes.toArray(String[]::new));
  }

  /**
   * A guest waits while a disk is full, and what it wrote must not be lost by then. The page cache
   * of a block device takes any write; when it is written back and the device, which may be a thin
   * one, has no room, the page is dropped, and QEMU, whose next flush fails, never trusts that
   * device again. So devices are written past the page cache: the write itself fails, and is tried
   * again. A file system (ext4, XFS, Btrfs) reserves the room of a page when it is written, be it
   * allocated later, so a write to a file in a full pool fails at once as well, and overlays keep
   * the page cache, which serves the many guests of one base. Left out: file systems that find out
   * later, as NFS does, or that lie on thin devices themselves.
   */
  private static String cache(PlannedDisk disk, Link top) {
    var device = top.device() != null && !disk.readOnly();
    return disk.shareable() || device ? "none" : "writeback";
  }

  private void source(Link link) {
    var network = link.network();
    if (network == null) {
      xml.empty("source", link.device() != null ? "dev" : "file", link.toString());
      return;
    }
    var attributes = new ArrayList<String>(List.of("protocol", network.protocol()));
    if (!network.name().isEmpty()) {
      Collections.addAll(attributes, "name", network.name());
    }
    if (network.tls()) {
      Collections.addAll(attributes, "tls", "yes");
    }
    xml.open("source", () -> server(network), attributes.toArray(String[]::new));
  }

  private void server(NetworkDisk network) {
    if (network.socket() != null) {
      xml.empty("host", "transport", "unix", "socket", network.socket());
    }
    for (var host : network.hosts()) {
      xml.empty("host", "name", host.host(), "port", Integer.toString(host.port()));
    }
    var login = network.login();
    if (login != null) {
      xml.open(
          "auth",
          () ->
              xml.empty(
                  "secret",
                  "type",
                  NetworkDisk.Login.type(network.protocol()),
                  "uuid",
                  login.secret().toString()),
          "username",
          login.user());
    }
  }

  /**
   * The chain is written out and ended by an empty element, so that libvirt does not probe for
   * more.
   */
  private void backing(List<Link> below) {
    if (below.isEmpty()) {
      xml.empty("backingStore");
      return;
    }
    var next = below.getFirst();
    xml.open(
        "backingStore",
        () -> {
          xml.empty("format", "type", next.format().word());
          source(next);
          backing(below.subList(1, below.size()));
        },
        "type",
        type(next));
  }

  private static String type(Link link) {
    if (link.network() != null) {
      return "network";
    }
    return link.device() != null ? "block" : "file";
  }
}
