package dev.platter.dialect;

import dev.platter.model.Access;
import dev.platter.model.BlankSource;
import dev.platter.model.Bus;
import dev.platter.model.ByteSize;
import dev.platter.model.CloudInit;
import dev.platter.model.Copy;
import dev.platter.model.CopyMode;
import dev.platter.model.Disk;
import dev.platter.model.Driver;
import dev.platter.model.Inside;
import dev.platter.model.Rules;
import dev.platter.model.Uuids;
import dev.platter.model.Vm;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import org.jspecify.annotations.Nullable;
import org.snakeyaml.engine.v2.nodes.Node;
import org.snakeyaml.engine.v2.nodes.ScalarNode;

/**
 * KubeVirt's {@code VirtualMachine} and {@code VirtualMachineInstance}, so that manifests can be
 * tried as they are: processors, memory, firmware UUID, volumes, disks and cloud-init. What else
 * they say is about a cluster (networks, affinity, …) and is passed over.
 */
final class KubeVirtObjects {
  private static final String GROUP = "kubevirt.io/";
  private static final String INSTANCE = "VirtualMachineInstance";
  private static final ByteSize DEFAULT_MEMORY = ByteSize.mebibytes(512);
  private static final int MOST_CPUS = 255;
  private static final int LONGEST_SERIAL = 20;

  /**
   * A guest finds a SATA or USB disk under the same names as one of SCSI, which is what we have.
   */
  private static final Map<String, Bus> BUSES =
      Map.of("virtio", Bus.VIRTIO, "scsi", Bus.SCSI, "sata", Bus.SCSI, "usb", Bus.SCSI);

  private static final List<String> DEVICES = List.of("disk", "cdrom", "lun");

  private final List<Node> documents;
  private final Objects given;
  private final String defaultName;
  private final Problems problems;

  /**
   * @param documents all of the file, among them DataVolumes
   * @param given Secrets that may be referred to
   */
  KubeVirtObjects(List<Node> documents, Objects given, String defaultName, Problems problems) {
    this.documents = documents;
    this.given = given;
    this.defaultName = defaultName;
    this.problems = problems;
  }

  /** Whether the document is one of KubeVirt's VMs: its kind alone may be Platter's own. */
  static boolean isOne(Node document) {
    return text(document, "kind").equals(INSTANCE)
        || (text(document, "kind").equals("VirtualMachine")
            && text(document, "apiVersion").startsWith(GROUP));
  }

  private static String text(Node document, String key) {
    return VmObjects.child(document, key) instanceof ScalarNode scalar ? scalar.getValue() : "";
  }

  @Nullable Vm read(Node document) {
    var fields = Fields.of(document, "", problems);
    if (fields == null) {
      return null;
    }
    var metadata = fields.fields("metadata");
    var name = metadata == null ? null : metadata.text("name");
    var written = metadata == null ? null : metadata.text("namespace");
    var namespace = written == null ? VmObjects.DEFAULT_NAMESPACE : written;
    if (metadata != null) {
      Names.check(metadata, namespace, name);
    }
    var outer = fields.requiredFields("spec");
    var spec = outer == null ? null : instance(document, outer);
    if (outer == null || spec == null) {
      return null;
    }
    var volumes = new KubeVirtVolumes(namespace, given, dataVolumes(namespace, outer)).read(spec);
    var domain = spec.requiredFields("domain");
    var devices = domain == null ? null : domain.fields("devices");
    var disks = disks(spec, devices, volumes);
    if (domain == null) {
      return null;
    }
    var memory = memory(domain, outer);
    var cpus = cpus(domain);
    var firmware = domain.fields("firmware");
    var uuid = firmware == null ? null : firmware.<UUID>parsed("uuid", VmObjects::uuid);
    if (disks.isEmpty() && problems.count() == 0) {
      spec.problem("volumes", "a VM needs at least one volume that is a disk");
    }
    if (problems.count() > 0) {
      return null;
    }
    var called = name == null ? defaultName : name;
    return new Vm(
        namespace,
        called,
        uuid == null ? Uuids.ofVm(namespace, called) : uuid,
        cpus,
        memory,
        disks,
        seed(volumes),
        List.of(),
        Inside.NOTHING,
        null);
  }

  /** The spec of the instance, which a VirtualMachine has as its template. */
  private static @Nullable Fields instance(Node document, Fields outer) {
    if (text(document, "kind").equals(INSTANCE)) {
      return outer;
    }
    var template = outer.requiredFields("template");
    return template == null ? null : template.requiredFields("spec");
  }

  private Map<String, KubeVirtVolume.Bytes> dataVolumes(String namespace, Fields outer) {
    var out = new DataVolumes(namespace);
    for (var document : documents) {
      if (text(document, "kind").equals(DataVolumes.KIND)) {
        var fields = Fields.of(document, "", problems);
        if (fields != null) {
          out.add(fields);
        }
      }
    }
    outer.mappings("dataVolumeTemplates").forEach(out::add);
    return out.byName();
  }

  private static ByteSize memory(Fields domain, Fields outer) {
    var memory = domain.fields("memory");
    var size = memory == null ? null : memory.size("guest");
    var resources = domain.fields("resources");
    for (var word : List.of("requests", "limits")) {
      var amounts = size != null || resources == null ? null : resources.fields(word);
      size = amounts == null ? size : amounts.size("memory");
    }
    if (size == null && outer.has("instancetype")) {
      outer.problem(
          "instancetype", "is an object of a cluster; write template.spec.domain.memory.guest");
    }
    if (size != null && size.bytes() < 16 << 20) {
      domain.problem("memory", "a guest needs 16Mi at least");
    }
    return size == null ? DEFAULT_MEMORY : size;
  }

  private static int cpus(Fields domain) {
    var cpu = domain.fields("cpu");
    var product = 1;
    for (var word : List.of("sockets", "cores", "threads")) {
      var count = cpu == null ? null : cpu.integer(word, 1, MOST_CPUS);
      product *= count == null ? 1 : count;
    }
    if (cpu != null && product > MOST_CPUS) {
      cpu.problem("a VM can have " + MOST_CPUS + " processors, not " + product);
    }
    return product;
  }

  private @Nullable CloudInit seed(Map<String, KubeVirtVolumes.Read> volumes) {
    CloudInit found = null;
    for (var read : volumes.values()) {
      if (read.volume() instanceof KubeVirtVolume.Seed seed) {
        if (found != null) {
          read.fields().problem("a VM has one cloud-init volume; this is another");
        }
        found = seed.cloudInit();
      }
    }
    return found;
  }

  /** How a disk is shown to the guest. */
  private record Entry(
      Fields fields,
      String volume,
      Bus bus,
      boolean readOnly,
      boolean shared,
      String serial,
      int bootOrder) {}

  private List<Disk> disks(
      Fields spec, @Nullable Fields devices, Map<String, KubeVirtVolumes.Read> volumes) {
    var entries = entries(devices, volumes);
    var seeds = seed(volumes) != null;
    var targets = new Targets();
    var serials = new HashSet<String>();
    var disks = new WrittenDisks();
    for (var entry : entries) {
      var volume = volumes.get(entry.volume);
      if (volume == null) {
        if (problems.count() == 0) {
          entry.fields.problem(
              "name", "there is no volume " + Fields.brief(entry.volume) + " in 'volumes'");
        }
      } else if (volume.volume() instanceof KubeVirtVolume.Bytes bytes) {
        var disk = disk(entry, bytes, targets, serials);
        if (disk != null) {
          disks.add(disk, entry.fields);
        }
      }
    }
    return disks.checked(seeds, spec::problem, (at, violation) -> at.problem(violation.message()));
  }

  /** The one to boot from first, then as they are written; volumes without a disk get one. */
  private List<Entry> entries(@Nullable Fields devices, Map<String, KubeVirtVolumes.Read> volumes) {
    var out = new ArrayList<Entry>();
    var named = new HashSet<String>();
    for (var fields : devices == null ? List.<Fields>of() : devices.mappings("disks")) {
      var entry = entry(fields);
      if (entry != null && !named.add(entry.volume)) {
        fields.problem("name", "two disks are of the volume " + Fields.brief(entry.volume));
      } else if (entry != null) {
        out.add(entry);
      }
    }
    volumes.forEach(
        (name, read) -> {
          if (named.add(name)) {
            out.add(
                new Entry(read.fields(), name, Bus.SCSI, false, false, name, Integer.MAX_VALUE));
          }
        });
    out.stream()
        .filter(entry -> entry.bootOrder < Integer.MAX_VALUE)
        .min(java.util.Comparator.comparingInt(Entry::bootOrder))
        .ifPresent(
            first -> {
              out.remove(first);
              out.addFirst(first);
            });
    return out;
  }

  private static @Nullable Entry entry(Fields fields) {
    var name = fields.requiredText("name", "rootdisk");
    // How it is cached and queued is Platter's to choose.
    fields.ignore("cache", "io", "tag", "blockSize", "dedicatedIOThread", "errorPolicy");
    var order = fields.integer("bootOrder", 1, 999);
    var serial = fields.text("serial");
    var shared = fields.flag("shareable");
    var kinds = DEVICES.stream().filter(fields::has).toList();
    var bus = Bus.SCSI;
    var readOnly = false;
    for (var kind : kinds) {
      var device = fields.fields(kind);
      if (device != null) {
        device.ignore("pciAddress", "tray", "reservation");
        var word = device.word("bus", BUSES);
        bus = word == null ? bus : word;
        readOnly |= device.flag("readonly");
        device.done();
      }
      readOnly |= kind.equals("cdrom");
    }
    if (kinds.size() > 1) {
      fields.problem("is both " + String.join(" and ", kinds) + "; a disk is one of them");
    }
    fields.done();
    return name == null
        ? null
        : new Entry(
            fields,
            name,
            bus,
            readOnly,
            shared,
            serial == null ? name : serial,
            order == null ? Integer.MAX_VALUE : order);
  }

  private @Nullable Disk disk(
      Entry entry, KubeVirtVolume.Bytes bytes, Targets targets, Set<String> serials) {
    var target = targets.next(entry.bus, entry.fields);
    if (target == null) {
      return null;
    }
    var readOnly = bytes.readOnly() || entry.readOnly;
    // A disk that is only read needs no file for what is written, nor room in one.
    var copy = readOnly ? CopyMode.NONE : bytes.copy();
    var made = copy != CopyMode.NONE || bytes.source() instanceof BlankSource;
    var access =
        readOnly || copy != CopyMode.NONE
            ? Access.READ_SHARED
            : entry.shared ? Access.WRITE_SHARED : Access.WRITE_EXCLUSIVE;
    var disk =
        new Disk(
            serial(entry.serial, serials),
            bytes.source(),
            access,
            new Copy(copy, null),
            target,
            made ? bytes.size() : null,
            Driver.AUTO,
            made && bytes.keep(),
            bytes.size() != null && copy != CopyMode.NONE);
    Rules.ofDisk(disk).forEach(violation -> entry.fields.problem(violation.message()));
    return disk;
  }

  /** A guest sees twenty characters of a serial at most. */
  private static String serial(String name, Set<String> taken) {
    var serial = name.substring(0, Math.min(name.length(), LONGEST_SERIAL));
    for (var number = 2; !taken.add(serial); number++) {
      var end = "-" + number;
      serial = name.substring(0, Math.min(name.length(), LONGEST_SERIAL - end.length())) + end;
    }
    return serial;
  }
}
