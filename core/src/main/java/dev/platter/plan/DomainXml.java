package dev.platter.plan;

import dev.platter.model.Bus;
import dev.platter.model.PortForward;
import dev.platter.model.Vm;
import dev.platter.plan.NodeFacts.Accelerator;
import dev.platter.plan.PlannedDisk.Link;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Locale;
import java.util.UUID;

/**
 * The libvirt domain of a VM.
 *
 * <p>Guests know disks by serial, not by name: on virtio-scsi Linux does not name disks in the
 * order of the XML. Each SCSI disk is a target of its own all the same, since that keeps the order
 * in most boots. The format of every file is stated, down to the end of each chain, so that neither
 * libvirt nor QEMU looks at a header that a guest may have written.
 */
final class DomainXml {
  private static final String METADATA = "https://platter.dev/xmlns/vm/1";
  private static final String QEMU = "http://libvirt.org/schemas/domain/qemu/1.0";

  private final Vm vm;
  private final NodeFacts facts;
  private final List<PlannedDisk> disks;
  private final Xml xml = new Xml();

  private DomainXml(Vm vm, NodeFacts facts, List<PlannedDisk> disks) {
    this.vm = vm;
    this.facts = facts;
    this.disks = disks;
  }

  static String of(Vm vm, NodeFacts facts, List<PlannedDisk> disks) {
    return new DomainXml(vm, facts, disks).write();
  }

  static String domainName(Vm vm) {
    return vm.namespace() + "." + vm.name();
  }

  private String write() {
    xml.open(
        "domain",
        () -> {
          xml.text("name", domainName(vm));
          xml.text("uuid", vm.uuid().toString());
          xml.open(
              "metadata",
              () ->
                  xml.empty(
                      "platter:vm",
                      "xmlns:platter",
                      METADATA,
                      "namespace",
                      vm.namespace(),
                      "name",
                      vm.name()));
          xml.text("memory", Long.toString(vm.memory().bytes()), "unit", "bytes");
          xml.text("vcpu", Integer.toString(vm.cpus()));
          xml.open("os", () -> xml.text("type", "hvm", "arch", "x86_64", "machine", "q35"));
          features();
          xml.text("on_poweroff", "destroy");
          xml.text("on_reboot", "restart");
          xml.text("on_crash", "destroy");
          xml.open("devices", this::devices);
          network();
        },
        "type",
        facts.accelerator().domainType(),
        "xmlns:qemu",
        QEMU);
    return xml.toString();
  }

  private void features() {
    if (facts.accelerator() == Accelerator.KVM) {
      xml.open("features", () -> xml.empty("acpi"));
      xml.empty("cpu", "mode", "host-passthrough", "migratable", "on");
      return;
    }
    xml.open(
        "features",
        () -> {
          xml.empty("acpi");
          // The translation cache would otherwise grow to a gigabyte of host memory.
          xml.open("tcg", () -> xml.text("tb-cache", "128", "unit", "MiB"));
        });
    // Five-level page tables make every emulated memory access slower.
    xml.open(
        "cpu", () -> xml.empty("feature", "policy", "disable", "name", "la57"), "mode", "maximum");
  }

  private void devices() {
    xml.text("emulator", facts.emulator());
    if (disks.stream().anyMatch(disk -> disk.bus() == Bus.SCSI)) {
      xml.empty("controller", "type", "scsi", "index", "0", "model", "virtio-scsi");
    }
    xml.empty("controller", "type", "usb", "model", "none");
    disks.forEach(this::disk);
    xml.open("serial", this::serial, "type", "unix");
    xml.open(
        "rng", () -> xml.text("backend", "/dev/urandom", "model", "random"), "model", "virtio");
    xml.open("video", () -> xml.empty("model", "type", "none"));
    xml.empty("memballoon", "model", "none");
  }

  private void serial() {
    var directory = facts.layout().vm(new VmKey(vm.namespace(), vm.name()));
    xml.empty("source", "mode", "bind", "path", facts.layout().consoleSocket(vm.uuid()).toString());
    xml.empty("log", "file", facts.layout().consoleLog(directory).toString(), "append", "on");
    xml.open(
        "target",
        () -> xml.empty("model", "name", "isa-serial"),
        "type",
        "isa-serial",
        "port",
        "0");
  }

  private void disk(PlannedDisk disk) {
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
        attributes,
        "name",
        "qemu",
        "type",
        top.format().word(),
        "cache",
        disk.shareable() ? "none" : "writeback");
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

  /**
   * libvirt 9.0 cannot forward ports of a user-mode network, so QEMU is told directly. QEMU places
   * this device before those of libvirt, which takes slots from the low end: it needs an address
   * out of their way.
   */
  private void network() {
    var forwards = new StringBuilder("user,id=net0");
    for (PortForward port : vm.publish()) {
      forwards.append(
          String.format(
              Locale.ROOT,
              ",hostfwd=tcp:%s:%d-:%d",
              port.address(),
              port.port(),
              port.guestPort()));
    }
    xml.open(
        "qemu:commandline",
        () -> {
          for (var argument :
              List.of(
                  "-netdev",
                  forwards.toString(),
                  "-device",
                  "virtio-net-pci,netdev=net0,bus=pcie.0,addr=0x10,romfile=,mac="
                      + mac(vm.uuid()))) {
            xml.empty("qemu:arg", "value", argument);
          }
        });
  }

  private static String mac(UUID uuid) {
    var bits = uuid.getLeastSignificantBits();
    return String.format(
        Locale.ROOT, "52:54:00:%02x:%02x:%02x", bits >> 16 & 0xFF, bits >> 8 & 0xFF, bits & 0xFF);
  }
}
