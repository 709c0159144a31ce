package dev.platter.dialect;

import dev.platter.model.ByteSize;
import dev.platter.model.CloudInit;
import dev.platter.model.Disk;
import dev.platter.model.Inside;
import dev.platter.model.PortForward;
import dev.platter.model.Uuids;
import dev.platter.model.Vm;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import org.jspecify.annotations.Nullable;
import org.snakeyaml.engine.v2.nodes.MappingNode;
import org.snakeyaml.engine.v2.nodes.Node;
import org.snakeyaml.engine.v2.nodes.ScalarNode;

/**
 * VM objects: {@code kind: VM} or {@code VirtualMachine} with {@code spec.domain.devices.disks}. A
 * bare {@code disks:} list is a VM too, so that a fragment from a document can be tried as it
 * stands.
 */
final class VmObjects {
  static final String DEFAULT_NAMESPACE = "default";
  private static final ByteSize DEFAULT_MEMORY = ByteSize.mebibytes(512);
  private static final Map<String, CloudInit.Type> SEEDS =
      Map.of("nocloud", CloudInit.Type.NOCLOUD, "configdrive", CloudInit.Type.CONFIGDRIVE);

  private final Problems problems;
  private final String defaultName;

  VmObjects(String defaultName, Problems problems) {
    this.defaultName = defaultName;
    this.problems = problems;
  }

  @Nullable Vm object(Fields fields) {
    fields.ignore("apiVersion", "kind", "status");
    var metadata = fields.fields("metadata");
    var name = metadata == null ? null : metadata.text("name");
    var namespace = metadata == null ? null : metadata.text("namespace");
    if (metadata != null) {
      Names.check(metadata, namespace == null ? DEFAULT_NAMESPACE : namespace, name);
    }
    var spec = fields.requiredFields("spec");
    fields.done();
    if (spec == null) {
      return null;
    }
    var domain = spec.requiredFields("domain");
    var cloudInit = cloudInit(spec);
    var publish = publish(spec);
    spec.done();
    if (domain == null) {
      return null;
    }
    var cpu = domain.fields("cpu");
    var cores = cpu == null ? null : cpu.integer("cores", 1, 255);
    if (cpu != null) {
      cpu.done();
    }
    var memoryFields = domain.fields("memory");
    var memory = memoryFields == null ? null : memoryFields.size("guest");
    if (memoryFields != null) {
      memoryFields.done();
    }
    if (memory != null && memory.bytes() < 16 << 20) {
      domain.problem("memory", "a guest needs 16Mi at least");
    }
    var uuid = firmwareUuid(domain);
    var devices = domain.requiredFields("devices");
    domain.done();
    if (devices == null) {
      return null;
    }
    var disks =
        disks(
            devices.node("disks") == null ? List.of() : devices.items("disks"),
            devices.path("disks"),
            cloudInit != null,
            namespace == null ? DEFAULT_NAMESPACE : namespace);
    if (disks.isEmpty() && problems.count() == 0) {
      devices.problem("a VM needs at least one disk in 'disks'");
    }
    devices.done();
    return vm(namespace, name, uuid, cores, memory, disks, cloudInit, publish);
  }

  /** A list of disks on its own. */
  @Nullable Vm fragment(List<Node> items, String path) {
    return vm(
        null,
        null,
        null,
        null,
        null,
        disks(items, path, false, DEFAULT_NAMESPACE),
        null,
        List.of());
  }

  private @Nullable Vm vm(
      @Nullable String namespace,
      @Nullable String name,
      @Nullable UUID uuid,
      @Nullable Integer cores,
      @Nullable ByteSize memory,
      List<Disk> disks,
      @Nullable CloudInit cloudInit,
      List<PortForward> publish) {
    if (problems.count() > 0) {
      return null;
    }
    var space = namespace == null ? DEFAULT_NAMESPACE : namespace;
    var called = name == null ? defaultName : name;
    return new Vm(
        space,
        called,
        uuid == null ? Uuids.ofVm(space, called) : uuid,
        cores == null ? 1 : cores,
        memory == null ? DEFAULT_MEMORY : memory,
        disks,
        cloudInit,
        publish,
        Inside.NOTHING,
        null);
  }

  private static @Nullable UUID firmwareUuid(Fields domain) {
    var firmware = domain.fields("firmware");
    if (firmware == null) {
      return null;
    }
    var uuid = firmware.<UUID>parsed("uuid", VmObjects::uuid);
    firmware.done();
    return uuid;
  }

  static UUID uuid(String text) {
    if (!text.matches("[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")) {
      throw new IllegalArgumentException("'" + text + "' is not a UUID");
    }
    return UUID.fromString(text);
  }

  private List<Disk> disks(List<Node> items, String path, boolean withSeed, String namespace) {
    var targets = new Targets();
    items.forEach(item -> targets.reserve(device(item)));
    var disks = new WrittenDisks();
    for (var i = 0; i < items.size(); i++) {
      var fields = Fields.of(items.get(i), path + "[" + i + "]", problems);
      var disk = fields == null ? null : DiskReader.read(fields, targets, namespace);
      if (fields != null && disk != null) {
        disks.add(disk, fields);
      }
    }
    return disks.checked(
        withSeed,
        message -> problems.add(1, path, message),
        (at, violation) -> at.problem(violation.field(), violation.message()));
  }

  /** A look ahead, before anything is checked. */
  private static @Nullable String device(Node item) {
    return child(child(item, "target"), "device") instanceof ScalarNode scalar
        ? scalar.getValue()
        : null;
  }

  static @Nullable Node child(@Nullable Node node, String key) {
    if (!(node instanceof MappingNode mapping)) {
      return null;
    }
    for (var entry : mapping.getValue()) {
      if (entry.getKeyNode() instanceof ScalarNode scalar && scalar.getValue().equals(key)) {
        return entry.getValueNode();
      }
    }
    return null;
  }

  private static @Nullable CloudInit cloudInit(Fields spec) {
    var fields = spec.fields("cloudInit");
    if (fields == null) {
      return null;
    }
    var type = fields.word("type", SEEDS);
    String text = null;
    Map<String, Object> userData = Map.of();
    if (fields.node("userData") instanceof ScalarNode) {
      text = fields.text("userData");
    } else {
      userData = fields.cloudConfig("userData");
    }
    var metaData = fields.cloudConfig("metaData");
    var networkConfig =
        fields.node("networkConfig") == null ? null : fields.cloudConfig("networkConfig");
    var keys = fields.texts("sshKeys");
    fields.done();
    return new CloudInit(
        type == null ? CloudInit.Type.NOCLOUD : type,
        userData,
        text,
        metaData,
        networkConfig,
        keys,
        false);
  }

  private static List<PortForward> publish(Fields spec) {
    var network = spec.fields("network");
    if (network == null) {
      return List.of();
    }
    var out = new ArrayList<PortForward>();
    for (var text : network.texts("publish")) {
      try {
        out.add(PortForward.parse(text));
      } catch (IllegalArgumentException e) {
        network.problem("publish", String.valueOf(e.getMessage()));
      }
    }
    network.done();
    return out;
  }
}
