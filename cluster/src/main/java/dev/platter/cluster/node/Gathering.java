package dev.platter.cluster.node;

import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.platter.cluster.api.Names;
import dev.platter.cluster.api.VmIdentity;
import dev.platter.cluster.webhook.TenantRules;
import dev.platter.dialect.Manifests;
import dev.platter.dialect.Objects;
import dev.platter.model.ClaimSource;
import dev.platter.model.ConfigData;
import dev.platter.model.GuestFile;
import dev.platter.model.IdentitySource;
import dev.platter.model.IdentitySpec;
import dev.platter.model.PlatterException;
import dev.platter.model.PlatterException.Code;
import dev.platter.model.Vm;
import io.fabric8.kubernetes.api.model.PersistentVolume;
import io.fabric8.kubernetes.api.model.PersistentVolumeClaim;
import io.fabric8.kubernetes.api.model.PersistentVolumeClaimVolumeSource;
import io.fabric8.kubernetes.api.model.Pod;
import io.fabric8.kubernetes.api.model.Volume;
import io.fabric8.kubernetes.client.utils.KubernetesSerialization;
import java.io.IOException;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.SortedMap;
import java.util.stream.Collectors;

/**
 * Gathers what a launcher pod is made of: what its user wrote, and the objects that it refers to.
 * The contents of Secrets and ConfigMaps are those that the kubelet has put into the pod's volumes:
 * so a pod gets what its namespace has, and nothing else. The dialects read the rest, as they do on
 * a machine without a cluster.
 */
final class Gathering {
  /** Claims and volumes as the API server has them. */
  interface Storage {
    Optional<PersistentVolumeClaim> claim(String namespace, String name);

    Optional<PersistentVolume> volume(String name);

    Optional<VmIdentity> identity(String namespace, String name);
  }

  private final KubernetesSerialization json = new KubernetesSerialization();
  private final Path kubeletRoot;
  private final Storage storage;

  Gathering(Path kubeletRoot, Storage storage) {
    this.kubeletRoot = kubeletRoot;
    this.storage = storage;
  }

  /** One VM, and what it refers to. */
  Objects of(Pod pod) throws IOException {
    var name = PodVms.key(pod).name();
    var text = description(pod);
    var files = files(pod).with(identity(pod));
    // Twice, since only the description says which claims there are, and a pod's disks depend on
    // what these lead to.
    var referred = files.with(claims(pod, described(name, text, files).vms().getFirst()));
    var described = described(name, text, referred);
    var vm = described.vms().getFirst();
    if (!vm.namespace().equals(pod.getMetadata().getNamespace()) || !vm.name().equals(name)) {
      throw PlatterException.of(
          Code.INVALID, "the pod describes another VM: " + vm.namespace() + "/" + vm.name(), "");
    }
    return referred.with(described);
  }

  private Objects identity(Pod pod) {
    var name = pod.getMetadata().getLabels().get(Names.IDENTITY);
    return name == null
        ? Objects.NONE
        : storage
            .identity(pod.getMetadata().getNamespace(), name)
            .map(identity -> Manifests.objects("identity " + name, json.asJson(identity)))
            .orElse(Objects.NONE);
  }

  /** One VM, and the keys that stand in the description itself. */
  private static Objects described(String name, String text, Objects referred) {
    var read = Manifests.objects(name, text, referred);
    if (read.vms().size() != 1) {
      throw PlatterException.of(
          Code.INVALID, "the pod describes " + read.vms().size() + " VMs", "It must be one.");
    }
    // The webhook has asked already; who got past it does not get past this.
    var violations = TenantRules.podViolations(read.vms().getFirst());
    if (!violations.isEmpty()) {
      throw PlatterException.all(
          Code.INVALID, "a VM of a cluster cannot have this", "Leave it out.", violations);
    }
    return onClaims(read);
  }

  /** The disk of an identity is a claim like any other, if it is not a node's. */
  private static Objects onClaims(Objects read) {
    var vm = read.vms().getFirst();
    var disks =
        vm.disks().stream()
            .map(
                disk ->
                    disk.source() instanceof IdentitySource(var identity)
                            && identity.spec().type() == IdentitySpec.Type.PERSISTENT_VOLUME
                        ? disk.withSource(
                            new ClaimSource(VmIdentity.claimName(identity.key().name())))
                        : disk)
            .toList();
    return new Objects(
        List.of(vm.withDisks(disks)),
        read.secrets(),
        read.volumes(),
        read.configs(),
        read.tokens(),
        read.mounted(),
        read.identities());
  }

  /** What the dialects read: the VM object, or the pod as it was written. */
  private String description(Pod pod) {
    var annotations = pod.getMetadata().getAnnotations();
    var vm = annotations == null ? null : annotations.get(Names.VM);
    if (vm != null) {
      var object = json.unmarshal(vm, ObjectNode.class);
      if (!object.path("kind").asText().equals("VirtualMachine")) {
        throw PlatterException.of(
            Code.INVALID,
            "the annotation " + Names.VM + " has a " + object.path("kind").asText(),
            "It must be one VirtualMachine.");
      }
      // Who it is, is what the pod is, whatever stands in the annotation.
      object
          .putObject("metadata")
          .put("name", PodVms.key(pod).name())
          .put("namespace", pod.getMetadata().getNamespace());
      return object.toString();
    }
    var written = annotations == null ? null : annotations.get(Names.WRITTEN);
    if (written == null) {
      throw PlatterException.of(
          Code.INVALID,
          "the pod has neither of the annotations " + Names.VM + " and " + Names.WRITTEN,
          "Platter's webhook writes them. Was it away when the pod was made?");
    }
    var object = json.convertValue(pod, ObjectNode.class);
    object.set("spec", json.unmarshal(written, ObjectNode.class));
    ((ObjectNode) object.get("spec")).put("nodeName", pod.getSpec().getNodeName());
    object.remove("status");
    ((ObjectNode) object.get("metadata")).remove("managedFields");
    var shown = (ObjectNode) object.get("metadata").get("annotations");
    shown.remove(Names.WRITTEN);
    return object.toString();
  }

  private Objects files(Pod pod) throws IOException {
    var volumes = new KubeletVolumes(kubeletRoot, pod.getMetadata().getUid());
    var secrets = LauncherSecrets.volumes(pod);
    var all = Objects.of(LauncherSecrets.read(volumes, pod.getMetadata().getNamespace(), secrets));
    for (var volume : pod.getSpec().getVolumes()) {
      if (!secrets.containsKey(volume.getName())) {
        all = all.with(files(pod, volume, volumes));
      }
    }
    return all;
  }

  private Objects claims(Pod pod, Vm vm) throws IOException {
    var volumes = new KubeletVolumes(kubeletRoot, pod.getMetadata().getUid());
    var mounted =
        pod.getSpec().getVolumes().stream()
            .map(Volume::getPersistentVolumeClaim)
            .filter(java.util.Objects::nonNull)
            .map(PersistentVolumeClaimVolumeSource::getClaimName)
            .collect(Collectors.toSet());
    var all = Objects.NONE;
    for (var disk : vm.disks()) {
      if (disk.source() instanceof ClaimSource source) {
        var namespace = pod.getMetadata().getNamespace();
        checkPresent(pod, source, mounted);
        all =
            all.with(
                mounted.contains(source.claim())
                    ? mounted(namespace, source.claim(), volumes)
                    : direct(namespace, source.claim()));
      }
    }
    return all;
  }

  /** What a pod's identity is has to be known when the pod is made. */
  private static void checkPresent(Pod pod, ClaimSource source, Set<String> mounted) {
    var identity = pod.getMetadata().getLabels().get(Names.IDENTITY);
    if (identity != null
        && source.claim().equals(VmIdentity.claimName(identity))
        && !mounted.contains(source.claim())) {
      throw PlatterException.of(
          Code.INVALID,
          "the pod is older than its VirtletVMIdentitySet, and lacks the claim " + source.claim(),
          "Delete the pod and make it anew.");
    }
  }

  private static Objects files(Pod pod, Volume volume, KubeletVolumes volumes) throws IOException {
    var namespace = pod.getMetadata().getNamespace();
    var name = volume.getName();
    var extra = name.startsWith(Names.DATA_VOLUME_PREFIX);
    var plugin = KubeletVolumes.filePlugin(volume);
    if (plugin.isEmpty()) {
      return Objects.NONE;
    }
    var files = volumes.files(plugin.get(), name);
    return extra && volume.getConfigMap() != null
        ? config(namespace + "/" + volume.getConfigMap().getName(), files)
        : mounted(pod, name, files);
  }

  private static Objects mounted(Pod pod, String volume, SortedMap<String, GuestFile> files) {
    var metadata = pod.getMetadata();
    return Objects.ofMounted(
        metadata.getNamespace() + "/" + metadata.getName() + "/" + volume, files);
  }

  private static Objects config(String name, SortedMap<String, GuestFile> files) {
    return Objects.of(ConfigData.of(name, values(files)));
  }

  private static Map<String, byte[]> values(SortedMap<String, GuestFile> files) {
    var out = new HashMap<String, byte[]>();
    files.forEach((key, file) -> out.put(key, file.content().bytes()));
    return out;
  }

  /** A claim that the kubelet has mounted: whatever its volume is, here it is a path. */
  private Objects mounted(String namespace, String name, KubeletVolumes volumes)
      throws IOException {
    var claim = claim(namespace, name);
    var volume = volume(claim);
    if (volume.getSpec().getHostPath() != null) {
      throw PlatterException.of(
          Code.UNSUPPORTED,
          "the volume %s of claim %s is a hostPath, which a kubelet mounts nowhere but in containers"
              .formatted(volume.getMetadata().getName(), name),
          "Use a volume of type local with the same path.");
    }
    var block = "Block".equals(volume.getSpec().getVolumeMode());
    var path =
        block
            ? volumes.device(volume.getMetadata().getName())
            : volumes.fileSystem(volume.getMetadata().getName());
    var object = json.convertValue(volume, ObjectNode.class);
    var spec = (ObjectNode) object.get("spec");
    var kept = spec.deepCopy().retain("accessModes", "capacity", "claimRef", "storageClassName");
    kept.set("volumeMode", spec.get("volumeMode"));
    kept.putObject("local").put("path", path.toString());
    object.set("spec", kept);
    return read(claim, object);
  }

  /** A claim that QEMU connects to itself. */
  private Objects direct(String namespace, String name) {
    var claim = claim(namespace, name);
    return read(claim, json.convertValue(volume(claim), ObjectNode.class));
  }

  private Objects read(PersistentVolumeClaim claim, ObjectNode volume) {
    var name = claim.getMetadata().getName();
    return Manifests.objects("claim " + name, json.asJson(claim))
        .with(Manifests.objects("the volume of claim " + name, volume.toString()));
  }

  private PersistentVolumeClaim claim(String namespace, String name) {
    return storage
        .claim(namespace, name)
        .orElseThrow(
            () ->
                PlatterException.of(
                    Code.NOT_FOUND,
                    "there is no PersistentVolumeClaim " + namespace + "/" + name,
                    "Make it, and the VM starts."));
  }

  private PersistentVolume volume(PersistentVolumeClaim claim) {
    var name = claim.getSpec().getVolumeName();
    return Optional.ofNullable(name)
        .flatMap(storage::volume)
        .orElseThrow(
            () ->
                PlatterException.of(
                    Code.UNAVAILABLE,
                    "the claim " + claim.getMetadata().getName() + " is not bound to a volume",
                    "'kubectl describe pvc' says why."));
  }
}
