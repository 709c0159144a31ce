package dev.platter.plan;

import dev.platter.model.Bus;
import dev.platter.model.ContainerImageSource;
import dev.platter.model.PortForward;
import dev.platter.model.Vm;
import dev.platter.plan.NodeFacts.Accelerator;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.UUID;

/** The libvirt domain of a VM. {@link DomainText} counts on its disks being one after the other. */
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
    return domainName(new VmKey(vm.namespace(), vm.name()));
  }

  static String domainName(VmKey vm) {
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
          xml.open("os", this::boot);
          features();
          xml.text("on_poweroff", "destroy");
          xml.text("on_reboot", runsImage() ? "destroy" : "restart");
          xml.text("on_crash", "destroy");
          xml.open("devices", this::devices);
          commandLine();
        },
        "type",
        facts.accelerator().domainType(),
        "xmlns:qemu",
        QEMU);
    return xml.toString();
  }

  private boolean runsImage() {
    return vm.bootDisk().source() instanceof ContainerImageSource;
  }

  private void boot() {
    xml.text("type", "hvm", "arch", "x86_64", "machine", "q35");
    if (runsImage()) {
      var boot = facts.boot();
      if (boot == null) {
        throw new IllegalArgumentException("the facts do not say what boots a container image");
      }
      xml.text("kernel", boot.kernel());
      xml.text("initrd", boot.initrd());
      xml.text("cmdline", Boot.COMMAND_LINE);
    }
  }

  private void features() {
    var tcg = facts.accelerator() == Accelerator.TCG;
    xml.open(
        "features",
        () -> {
          xml.empty("acpi");
          if (tcg) {
            // The translation cache would otherwise grow to a gigabyte of host memory.
            xml.open("tcg", () -> xml.text("tb-cache", "128", "unit", "MiB"));
          }
        });
    var cpu = vm.cpu();
    if (cpu != null) {
      CpuXml.write(xml, cpu);
    } else if (tcg) {
      // Five-level page tables make every emulated memory access slower.
      xml.open(
          "cpu",
          () -> xml.empty("feature", "policy", "disable", "name", "la57"),
          "mode",
          "maximum");
    } else {
      xml.empty("cpu", "mode", "host-passthrough", "migratable", "on");
    }
  }

  private void devices() {
    xml.text("emulator", facts.emulator());
    if (disks.stream().anyMatch(disk -> disk.bus() == Bus.SCSI)) {
      xml.empty("controller", "type", "scsi", "index", "0", "model", "virtio-scsi");
    }
    xml.empty("controller", "type", "usb", "model", "none");
    var disk = new DiskXml(xml);
    disks.forEach(disk::write);
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

  /**
   * libvirt 9.0 cannot forward ports of a user-mode network, nor share memory that is a file of
   * ours, so QEMU is told directly. QEMU places these devices before those of libvirt, which takes
   * slots from the low end: they need addresses out of their way.
   */
  private void commandLine() {
    var arguments =
        new ArrayList<>(
            List.of(
                "-netdev",
                facts.isolated() ? socket() : userMode(),
                "-device",
                "virtio-net-pci,netdev=net0,bus=pcie.0,addr=0x10,romfile=,mac=" + mac(vm.uuid())));
    if (runsImage()) {
      var file = facts.layout().exit(facts.layout().vm(new VmKey(vm.namespace(), vm.name())));
      arguments.add("-object");
      arguments.add(
          "memory-backend-file,id=exit,share=on,size="
              + Boot.EXIT_BYTES
              + ",mem-path="
              + escaped(file));
      arguments.add("-device");
      arguments.add("ivshmem-plain,memdev=exit,bus=pcie.0,addr=0x11");
    }
    xml.open(
        "qemu:commandline",
        () -> arguments.forEach(argument -> xml.empty("qemu:arg", "value", argument)));
  }

  private static String escaped(Path path) {
    return path.toString().replace(",", ",,");
  }

  /** QEMU listens: it does not connect again to a server that has died. */
  private String socket() {
    return "stream,id=net0,server=on,addr.type=unix,addr.path="
        + escaped(facts.layout().networkSocket(vm.uuid()));
  }

  private String userMode() {
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
    return forwards.toString();
  }

  private static String mac(UUID uuid) {
    var bits = uuid.getLeastSignificantBits();
    return String.format(
        Locale.ROOT, "52:54:00:%02x:%02x:%02x", bits >> 16 & 0xFF, bits >> 8 & 0xFF, bits & 0xFF);
  }
}
