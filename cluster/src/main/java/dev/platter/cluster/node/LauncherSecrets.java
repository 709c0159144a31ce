package dev.platter.cluster.node;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.platter.cluster.api.Names;
import dev.platter.model.ImageLogins;
import dev.platter.model.SecretData;
import dev.platter.node.VmSecrets;
import dev.platter.plan.VmKey;
import io.fabric8.kubernetes.api.model.Pod;
import java.io.IOException;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * The Secrets of launcher pods, as the kubelet has them in the pods' volumes now: those that a VM
 * names, and the logins for its images. They are in the pod's namespace and nowhere else, since
 * that is where the kubelet looks for them; a login is for the VMs whose pods have it mounted.
 *
 * <p>A daemon that was started anew finds them again by its own records, without the API server.
 */
final class LauncherSecrets implements VmSecrets {
  private static final ObjectMapper JSON = new ObjectMapper();

  /** The keys that Secrets with logins have. */
  private static final String CONFIG = ".dockerconfigjson";

  private static final String OLD_CONFIG = ".dockercfg";

  private final Owners owners;
  private final Path kubeletRoot;

  LauncherSecrets(Owners owners, Path kubeletRoot) {
    this.owners = owners;
    this.kubeletRoot = kubeletRoot;
  }

  /** The volumes of a pod that are there for its VM, with the names of their Secrets, in order. */
  static Map<String, String> volumes(Pod pod) {
    var out = new LinkedHashMap<String, String>();
    for (var volume : pod.getSpec().getVolumes()) {
      if (volume.getSecret() != null && isOurs(volume.getName())) {
        out.put(volume.getName(), volume.getSecret().getSecretName());
      }
    }
    return out;
  }

  private static boolean isOurs(String volume) {
    return volume.startsWith(Names.DATA_VOLUME_PREFIX)
        || volume.startsWith(Names.PULL_VOLUME_PREFIX);
  }

  @Override
  public SecretData of(VmKey vm) throws IOException {
    var owner = owners.find(vm);
    if (owner.isEmpty() || owner.get().launcher() == null) {
      return SecretData.NONE;
    }
    var launcher = owner.get().launcher();
    try {
      return read(
          new KubeletVolumes(kubeletRoot, launcher.uid()), vm.namespace(), launcher.secrets());
    } catch (NoSuchFileException e) {
      return SecretData.NONE; // The kubelet has taken the pod down.
    }
  }

  /**
   * @param secrets the names of volumes, with those of their Secrets
   */
  static SecretData read(KubeletVolumes volumes, String namespace, Map<String, String> secrets)
      throws IOException {
    var all = SecretData.NONE;
    var logins = new ArrayList<byte[]>();
    for (var secret : secrets.entrySet()) {
      var values = new HashMap<String, byte[]>();
      volumes
          .files("secret", secret.getKey())
          .forEach((key, file) -> values.put(key, file.content().bytes()));
      if (secret.getKey().startsWith(Names.PULL_VOLUME_PREFIX)) {
        logins.addAll(documents(values));
      } else {
        all = all.with(new SecretData(Map.of(namespace + "/" + secret.getValue(), values)));
      }
    }
    return all.with(SecretData.of(new ImageLogins(logins)));
  }

  /** As the kubelet reads them: in both forms, and a Secret without either is of no use. */
  private static List<byte[]> documents(Map<String, byte[]> secret) throws IOException {
    var config = secret.get(CONFIG);
    var old = secret.get(OLD_CONFIG);
    if (config != null) {
      return List.of(config);
    }
    return old == null ? List.of() : List.of(modern(old));
  }

  private static byte[] modern(byte[] old) throws IOException {
    try {
      return JSON.writeValueAsBytes(Map.of("auths", JSON.readTree(old)));
    } catch (JsonProcessingException e) {
      // Without the cause, which quotes the text around the error.
      throw new IOException("an image pull secret is not valid JSON");
    }
  }
}
