package dev.platter.dialect;

import dev.platter.model.ByteSize;
import dev.platter.model.GuestFile;
import dev.platter.model.Identity;
import dev.platter.model.Inside;
import dev.platter.model.Rules;
import dev.platter.model.SecretData;
import dev.platter.model.Uuids;
import dev.platter.model.Vm;
import java.math.BigDecimal;
import java.math.RoundingMode;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/**
 * Pods that are VMs: {@code kind: Pod} with the annotation of the runtime. Their one container is
 * the VM, its image the root disk. Fields of a pod that mean nothing to a VM are passed over, as a
 * cluster prints many of them.
 */
final class PodObjects {
  private static final String IMAGE_PREFIX = PodAnnotations.OUR_RUNTIME + "/";
  private static final String DEFAULT_ACCOUNT = "default";
  private static final ByteSize DEFAULT_MEMORY = ByteSize.mebibytes(1024);
  private static final ByteSize LEAST_MEMORY = ByteSize.mebibytes(16);
  private static final int MOST_CPUS = 255;

  /** Virtlet's, so that a pod has the UUID there that it has here. */
  private static final UUID PODS = UUID.fromString("67b7fb47-7735-4b64-86d2-6d062d121966");

  private final Objects given;
  private final Problems problems;

  /**
   * @param given what pods refer to
   */
  PodObjects(Objects given, Problems problems) {
    this.given = given;
    this.problems = problems;
  }

  /** The VM, and the secrets that stand in the pod itself. */
  Objects read(Fields pod) {
    var before = problems.count();
    var metadata = pod.requiredFields("metadata");
    var spec = pod.requiredFields("spec");
    if (metadata == null || spec == null) {
      return Objects.NONE;
    }
    var name = metadata.requiredText("name", "my-vm");
    var written = metadata.text("namespace");
    var namespace = written == null ? VmObjects.DEFAULT_NAMESPACE : written;
    Names.check(metadata, namespace, name);
    var annotated = metadata.requiredFields("annotations");
    var container = container(spec);
    if (name == null || annotated == null || container == null) {
      return Objects.NONE;
    }
    var annotations = new PodAnnotations(annotated, namespace, given);
    if (!annotations.isVm()) {
      return Objects.NONE;
    }
    var built = build(namespace, name, metadata, annotations, spec, container);
    annotations.done();
    return problems.count() > before ? Objects.NONE : built;
  }

  private @Nullable Fields container(Fields spec) {
    var containers = spec.items("containers");
    if (containers.size() != 1 || !spec.items("initContainers").isEmpty()) {
      spec.problem(
          "containers", "a pod that is a VM has exactly one container and no initContainers");
      return null;
    }
    return Fields.of(containers.getFirst(), spec.path("containers"), problems);
  }

  private Objects build(
      String namespace,
      String name,
      Fields metadata,
      PodAnnotations annotations,
      Fields spec,
      Fields container) {
    var resources = resources(container);
    var account = spec.text("serviceAccountName");
    var serviceAccount = account == null || account.isEmpty() ? DEFAULT_ACCOUNT : account;
    var facts = facts(namespace, name, metadata, spec, serviceAccount, resources);
    var files = new PodFiles(given, namespace, serviceAccount, facts);
    var reader = new PodVolumes(given, namespace, name, files);
    var volumes = reader.read(spec);
    var runsImage = annotations.runsImage();
    var cloudInit = runsImage ? null : annotations.cloudInit();
    var told = cloudInit == null || PodAnnotations.takesScript(cloudInit);
    var mounts = new PodMounts(container, volumes, reader.names(), told);
    mounts.read();
    if (!"false".equals(spec.text("automountServiceAccountToken"))) {
      mounts.account(files.account());
    }
    var environment = new PodEnvironment(container, given, namespace, files);
    if (!runsImage) {
      environment.file().ifPresent(mounts::file);
    }
    mounts.done();
    var image = image(container);
    var disks = new PodDisks(annotations.bus(), spec);
    var rootSize = annotations.rootSize();
    var systemUuid = annotations.systemUuid();
    var identity = annotations.identity(name, image, container, systemUuid);
    if (runsImage) {
      var program = new PodProgram(spec, container);
      program.refuse(mounts);
      disks.root(program.source(image, environment));
    } else if (identity == null) {
      disks.root(image, rootSize);
    } else {
      disks.root(identity);
    }
    for (var volume : PodDisks.order(mounts.devices(), volumes)) {
      var found = volumes.get(volume);
      if (found != null) {
        disks.volume(volume, found, namespace);
      }
    }
    for (var disk : disks.list()) {
      Rules.ofDisk(disk)
          .forEach(violation -> spec.problem("volumes", disk.name() + ": " + violation.message()));
    }
    var vm =
        new Vm(
            namespace,
            name,
            uuid(name, metadata, systemUuid, identity, namespace),
            cpus(annotations, resources),
            memory(container, resources),
            disks.list(),
            cloudInit,
            List.of(),
            new Inside(mounts.mounts(), mounts.links(), mounts.files(), rootFiles(annotations)),
            annotations.cpu());
    return Objects.of(vm).with(Objects.of(secrets(volumes)));
  }

  private static SecretData secrets(Map<String, PodVolumes.PodVolume> volumes) {
    var all = SecretData.NONE;
    for (var volume : volumes.values()) {
      if (volume instanceof PodVolumes.FlexDisk flex) {
        all = all.with(flex.found().secrets());
      }
    }
    return all;
  }

  private static List<GuestFile> rootFiles(PodAnnotations annotations) {
    var source = annotations.rootFiles();
    return source == null ? List.of() : annotations.checked(() -> RootFiles.read(source));
  }

  /** A pod that a cluster knows has an identifier of its own, which no other pod ever has. */
  private static UUID uuid(
      String name,
      Fields metadata,
      @Nullable UUID systemUuid,
      @Nullable Identity identity,
      String namespace) {
    var given = identity == null ? null : identity.spec().uuidOf(name);
    if (given != null) {
      return given;
    }
    if (systemUuid != null) {
      return systemUuid;
    }
    var uid = metadata.text("uid");
    return Uuids.version5(PODS, uid == null || uid.isEmpty() ? namespace + "/" + name : uid);
  }

  /** The name of an image, without what only says that it is a VM's; empty if it is none. */
  static String image(Fields container) {
    var image = container.requiredText("image", IMAGE_PREFIX + "my-image");
    if (image == null) {
      return "";
    }
    var plain = image.startsWith(IMAGE_PREFIX) ? image.substring(IMAGE_PREFIX.length()) : image;
    if (!plain.matches("[A-Za-z0-9][A-Za-z0-9._:/@%+~-]{0,1023}")) {
      container.problem("image", "'" + Fields.brief(image) + "' is not the name of an image");
    }
    return plain;
  }

  private static Map<String, BigDecimal> resources(Fields container) {
    var out = new HashMap<String, BigDecimal>();
    var resources = container.fields("resources");
    for (var kind : List.of("requests", "limits")) {
      var given = resources == null ? null : resources.fields(kind);
      for (var resource : List.of("cpu", "memory", "ephemeral-storage")) {
        var value = given == null ? null : given.<BigDecimal>parsed(resource, Quantity::parse);
        if (value != null) {
          out.put(kind + "." + resource, value);
          out.putIfAbsent("requests." + resource, value); // a limit alone asks for as much
        }
      }
    }
    return out;
  }

  /** The limit, else what is asked for. */
  private static @Nullable BigDecimal resource(Map<String, BigDecimal> resources, String name) {
    var limit = resources.get("limits." + name);
    return limit == null ? resources.get("requests." + name) : limit;
  }

  private static int cpus(PodAnnotations annotations, Map<String, BigDecimal> resources) {
    var count = annotations.cpus();
    if (count != null) {
      return count;
    }
    var cpu = resource(resources, "cpu");
    return cpu == null
        ? 1
        : cpu.setScale(0, RoundingMode.CEILING)
            .max(BigDecimal.ONE)
            .min(BigDecimal.valueOf(MOST_CPUS))
            .intValueExact();
  }

  private static ByteSize memory(Fields container, Map<String, BigDecimal> resources) {
    var memory = resource(resources, "memory");
    if (memory == null) {
      return DEFAULT_MEMORY;
    }
    if (memory.compareTo(BigDecimal.valueOf(LEAST_MEMORY.bytes())) < 0
        || memory.compareTo(BigDecimal.valueOf(1L << 46)) > 0) {
      container.problem("resources", "a guest needs 16Mi of memory at least, and 64Ti at most");
      return DEFAULT_MEMORY;
    }
    return ByteSize.of(memory.setScale(0, RoundingMode.CEILING).longValueExact());
  }

  private static PodFacts facts(
      String namespace,
      String name,
      Fields metadata,
      Fields spec,
      String account,
      Map<String, BigDecimal> resources) {
    var fields = new HashMap<String, String>();
    fields.put("metadata.name", name);
    fields.put("metadata.namespace", namespace);
    fields.put("spec.serviceAccountName", account);
    put(fields, "metadata.uid", metadata.text("uid"));
    put(fields, "spec.nodeName", spec.text("nodeName"));
    return new PodFacts(
        fields, metadata.textMap("labels"), metadata.textMap("annotations"), resources);
  }

  private static void put(Map<String, String> map, String key, @Nullable String value) {
    if (value != null) {
      map.put(key, value);
    }
  }
}
