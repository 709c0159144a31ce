package dev.platter.cluster.webhook;

import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.platter.cluster.api.Names;
import dev.platter.cluster.api.VmIdentity;
import dev.platter.model.ByteSize;
import dev.platter.model.ClaimSource;
import dev.platter.model.Disk;
import dev.platter.model.Driver;
import dev.platter.model.PlatterException;
import dev.platter.model.Pool;
import dev.platter.model.Vm;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.stream.Collectors;

/**
 * Turns a pod that is a VM into its launcher pod: an ordinary pod, without any right, whose one
 * container runs the launcher. The VM itself runs beside it; who it is, which volumes and Secrets
 * it has and how much memory, the kubelet enforces on the launcher.
 *
 * <p>What the user wrote is kept in an annotation, which is what the node reads. Of the container
 * only what is named here is carried over, so that a field of a later Kubernetes cannot give it
 * more than was meant; of the pod all that is about where, when and for how long it runs.
 *
 * <p>Nothing that the user says of itself to be ours is believed: labels, annotations and volumes
 * of our names are overwritten or refused.
 */
public final class LauncherPod {
  private static final int USER = 65_532;

  /** Page tables of the guest's memory, 8 bytes for each 4 KiB. */
  private static final long PAGE_TABLES = 512;

  /** Of a pod: they concern containers that run as other than a launcher, or the node itself. */
  private static final List<String> REFUSED_IF_TRUE = List.of("hostNetwork", "hostPID", "hostIPC");

  private final ObjectNode pod;
  private final String namespace;
  private final ClusterObjects cluster;
  private final Options options;
  private final ObjectNode metadata;
  private final ObjectNode annotations;
  private final ObjectNode spec;
  private final boolean fromObject;

  /**
   * @param image the launcher's
   * @param pullPolicy of the launcher's image
   * @param overhead what QEMU and the launcher need beside the guest's memory
   */
  public record Options(String image, String pullPolicy, ByteSize overhead) {
    /**
     * QEMU's code, threads and disk caches; passt's buffers; the launcher takes next to nothing.
     */
    public static final ByteSize OVERHEAD = ByteSize.mebibytes(192);
  }

  private LauncherPod(ObjectNode pod, String namespace, ClusterObjects cluster, Options options) {
    this.pod = pod;
    this.namespace = namespace;
    this.cluster = cluster;
    this.options = options;
    this.metadata = Json.object(pod, "metadata");
    this.annotations = Json.object(metadata, "annotations");
    this.spec = Json.object(pod, "spec");
    this.fromObject = annotations.has(Names.VM);
  }

  /**
   * @param pod as it came; not changed
   * @param namespace where it will be, whatever it says itself
   * @throws PlatterException that says why it cannot be a VM
   */
  public static ObjectNode of(
      ObjectNode pod, String namespace, ClusterObjects cluster, Options options) {
    return new LauncherPod(pod, namespace, cluster, options).build();
  }

  private ObjectNode build() {
    var container = check();
    var vm = fromObject ? vmOfObject() : vmOfPod();
    var violations = TenantRules.podViolations(vm);
    if (!violations.isEmpty()) {
      throw Json.refused(String.join(" ", violations));
    }
    var volumes = volumes(vm);
    var out = pod.deepCopy();
    out.set("metadata", metadata(vm));
    out.set("spec", spec(vm, container, volumes));
    return out;
  }

  private ObjectNode check() {
    var runtime = Json.text(annotations, Names.TARGET_RUNTIME);
    if (fromObject && runtime != null) {
      throw Json.refused(
          "the annotations " + Names.VM + " and " + Names.TARGET_RUNTIME + " exclude each other");
    }
    if (!fromObject && !Names.OUR_RUNTIME.equals(runtime)) {
      throw Json.refused(
          "only a pod with the annotation "
              + Names.TARGET_RUNTIME
              + ": "
              + Names.OUR_RUNTIME
              + " can have labels, annotations and volumes of "
              + Names.GROUP);
    }
    for (var field : REFUSED_IF_TRUE) {
      if (spec.path(field).asBoolean()) {
        throw Json.refused("spec." + field + " cannot be given to a VM");
      }
    }
    for (var field : List.of("runtimeClassName", "resources")) {
      if (spec.hasNonNull(field)) {
        throw Json.refused(
            "spec." + field + " cannot be given to a VM: its pod holds the launcher only");
      }
    }
    var containers = Json.objects(spec, "containers");
    if (containers.size() != 1
        || !spec.path("initContainers").isEmpty()
        || !spec.path("ephemeralContainers").isEmpty()) {
      throw Json.refused("a pod that is a VM has exactly one container and no initContainers");
    }
    for (var volume : Json.objects(spec, "volumes")) {
      var name = Json.text(volume, "name", "");
      if (LauncherVolumes.reserved(name)) {
        throw Json.refused("spec.volumes: the name " + name + " is for Platter to give");
      }
    }
    return containers.getFirst();
  }

  private Vm vmOfPod() {
    try {
      return PodText.read(pod, namespace);
    } catch (PlatterException e) {
      throw Json.refused(String.join("; ", VmText.problems(e)));
    }
  }

  private Vm vmOfObject() {
    var what = "metadata.annotations." + Names.VM;
    var object = Json.read(Json.text(annotations, Names.VM, ""), what);
    var written = Json.object(object, "metadata");
    if (!Json.text(object, "kind", "").equals("VirtualMachine")) {
      throw Json.refused(what + ": must be one VirtualMachine");
    }
    // A pod that a VM moves to has a name of its own, and starts no VM.
    var name = Json.text(annotations, Names.MOVED_VM, Json.text(metadata, "name", ""));
    if (!namespace.equals(Json.text(written, "namespace"))
        || !name.equals(Json.text(written, "name"))) {
      throw Json.refused(what + ": namespace and name are not those of the pod");
    }
    try {
      return VmText.read(object);
    } catch (PlatterException e) {
      throw Json.refused(what + ": " + String.join("; ", VmText.problems(e)));
    }
  }

  private ObjectNode metadata(Vm vm) {
    var out = metadata.deepCopy();
    var labels = out.withObjectProperty("labels");
    labels.put(Names.LAUNCHER, "true");
    if (fromObject) {
      labels.put(Names.VM_NAME, vm.name());
    } else {
      labels.remove(Names.VM_NAME);
    }
    labels.remove(Names.IDENTITY);
    PodIdentityName.of(metadata).ifPresent(name -> labels.put(Names.IDENTITY, name));
    out.withObjectProperty("annotations").put(Names.WRITTEN, Json.write(spec));
    return out;
  }

  private LauncherVolumes volumes(Vm vm) {
    var out = new LauncherVolumes(namespace, cluster);
    for (var volume : Json.objects(spec, "volumes")) {
      out.add(volume, driver(vm, volume));
    }
    var named =
        vm.disks().stream()
            .filter(disk -> disk.source() instanceof ClaimSource)
            .collect(
                Collectors.toMap(
                    disk -> ((ClaimSource) disk.source()).claim(),
                    LauncherPod::driver,
                    (one, _) -> one,
                    LinkedHashMap::new));
    named.forEach(out::claim);
    PodIdentityName.of(metadata)
        .filter(this::identityIsClaim)
        .ifPresent(name -> out.device(VmIdentity.claimName(name)));
    (fromObject ? DataRef.of(vm) : DataRef.of(annotations, spec)).forEach(out::data);
    for (var secret : Json.objects(spec, "imagePullSecrets")) {
      out.pullSecret(Json.text(secret, "name", ""));
    }
    out.done();
    return out;
  }

  /** As the identity says, or else the set that it will be made from. */
  private boolean identityIsClaim(String name) {
    return cluster
        .identity(namespace, name)
        .or(() -> cluster.identitySet(namespace, Json.text(annotations, Names.IDENTITY_SET, "")))
        .map(text -> Json.object(Json.read(text, "identity"), "spec"))
        .filter(found -> Json.text(found, "type", "").equals("PersistentVolume"))
        .isPresent();
  }

  /** Who opens a claim is said by the disk that is on it. */
  private static Driver driver(Vm vm, ObjectNode volume) {
    var claim = Json.text(Json.object(volume, "persistentVolumeClaim"), "claimName");
    return vm.disks().stream()
        .filter(disk -> disk.source() instanceof ClaimSource used && used.claim().equals(claim))
        .map(LauncherPod::driver)
        .findFirst()
        .orElse(Driver.AUTO);
  }

  /** An image is written by the node, to what the kubelet has mounted or mapped there. */
  private static Driver driver(Disk disk) {
    return disk.fill() != null && disk.driver() == Driver.AUTO ? Driver.KUBELET : disk.driver();
  }

  private ObjectNode spec(Vm vm, ObjectNode container, LauncherVolumes volumes) {
    var out = spec.deepCopy();
    out.remove(List.of("initContainers", "shareProcessNamespace"));
    // The token that a guest is given is a volume by now; else it would be mounted once more.
    out.put("automountServiceAccountToken", false);
    var security = out.putObject("securityContext");
    security.put("runAsNonRoot", true).put("runAsUser", USER).put("runAsGroup", USER);
    security.putObject("seccompProfile").put("type", "RuntimeDefault");
    var selector = out.withObjectProperty("nodeSelector");
    selector.put(Names.NODE, "true");
    usageTypes(vm).forEach(type -> selector.put(Names.USAGE_PREFIX + type, "true"));
    PodIdentityName.of(metadata)
        .flatMap(name -> cluster.identity(namespace, name))
        .map(identity -> Json.read(identity, "identity"))
        .ifPresent(identity -> NodeAffinity.prefer(out, identity));
    var gates = Json.list();
    Json.objects(spec, "readinessGates").stream()
        .filter(gate -> !Names.RUNNING_GATE.equals(Json.text(gate, "conditionType")))
        .forEach(gates::add);
    gates.addObject().put("conditionType", Names.RUNNING_GATE);
    out.set("readinessGates", gates);
    out.set("volumes", volumes.volumes());
    out.putArray("containers").add(container(vm, container, volumes));
    return out;
  }

  private static List<String> usageTypes(Vm vm) {
    var out = new ArrayList<String>();
    for (var disk : vm.disks()) {
      var type = disk.copy().usageType();
      if (type != null && !Pool.BUILT_IN.contains(type) && !out.contains(type)) {
        out.add(type);
      }
    }
    return out;
  }

  private ObjectNode container(Vm vm, ObjectNode written, LauncherVolumes volumes) {
    var out = Json.object();
    out.put("name", Json.text(written, "name", "vm"));
    out.put("image", options.image());
    out.put("imagePullPolicy", options.pullPolicy());
    out.putArray("command").add(Names.LAUNCHER_COMMAND);
    if (written.has("ports")) {
      out.set("ports", written.get("ports"));
    }
    out.set("resources", resources(vm, Json.object(written, "resources")));
    out.put("terminationMessagePolicy", "FallbackToLogsOnError");
    var security = out.putObject("securityContext");
    security.put("allowPrivilegeEscalation", false);
    security.putObject("capabilities").putArray("drop").add("ALL");
    security.put("readOnlyRootFilesystem", true);
    security.put("runAsNonRoot", true).put("runAsUser", USER).put("runAsGroup", USER);
    security.putObject("seccompProfile").put("type", "RuntimeDefault");
    out.set("volumeMounts", volumes.mounts());
    if (!volumes.devices().isEmpty()) {
      out.set("volumeDevices", volumes.devices());
    }
    return out;
  }

  /** As written, but for the memory: a limit below what QEMU takes would end every VM. */
  private ObjectNode resources(Vm vm, ObjectNode written) {
    var out = Json.object();
    var guest = vm.memory().bytes();
    var mebibyte = 1L << 20;
    var all = guest + guest / PAGE_TABLES + options.overhead().bytes();
    var memory = ByteSize.mebibytes((all + mebibyte - 1) / mebibyte).toString();
    for (var kind : List.of("limits", "requests")) {
      var amounts = Json.object(written, kind).deepCopy();
      amounts.put("memory", memory);
      out.set(kind, amounts);
    }
    return out;
  }
}
