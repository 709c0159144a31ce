package dev.platter.cluster.controller;

import dev.platter.cluster.api.Names;
import dev.platter.cluster.api.VirtualMachine;
import dev.platter.model.ContainerSource;
import dev.platter.model.PlatterException;
import dev.platter.model.PlatterException.Code;
import dev.platter.node.container.VolumeEndpoint;
import dev.platter.node.x509.Authority;
import dev.platter.node.x509.Pem;
import dev.platter.node.x509.Validity;
import io.fabric8.kubernetes.api.model.Container;
import io.fabric8.kubernetes.api.model.ContainerBuilder;
import io.fabric8.kubernetes.api.model.EnvVar;
import io.fabric8.kubernetes.api.model.IntOrString;
import io.fabric8.kubernetes.api.model.OwnerReferenceBuilder;
import io.fabric8.kubernetes.api.model.Pod;
import io.fabric8.kubernetes.api.model.PodBuilder;
import io.fabric8.kubernetes.api.model.Secret;
import io.fabric8.kubernetes.api.model.SecretBuilder;
import io.fabric8.kubernetes.client.utils.KubernetesSerialization;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.UUID;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * The pod of a container that makes a volume for a VM. Its container is what the VM's author wrote,
 * with what the volume's service has to know; the pod gives it no more than any pod of the
 * namespace has.
 *
 * <p>Its name follows from VM and disk, so that there is never a second one. Its key is in a Secret
 * that belongs to the pod and is never read here: the authority's certificate, which is no secret,
 * stands in the pod, and the authority's key is forgotten.
 */
final class SourcePod {
  private static final KubernetesSerialization JSON = new KubernetesSerialization();
  private static final String TLS = "platter-tls";
  private static final String TLS_DIRECTORY = "/run/platter/tls";
  private static final int PORT = 8443;
  private static final int LONGEST_NAME = 50;

  private final VirtualMachine vm;
  private final String disk;
  private final Container container;

  /**
   * @throws PlatterException that says what is wrong with the container
   */
  SourcePod(VirtualMachine vm, String disk, ContainerSource source) {
    this.vm = vm;
    this.disk = disk;
    this.container = container(disk, source);
  }

  /**
   * What is to be made.
   *
   * @param secret belongs to the pod, so it comes after it; null if the service speaks plain HTTP
   */
  record Made(Pod pod, @Nullable Function<Pod, Secret> secret) {}

  static String name(VirtualMachine vm, String disk) {
    var words = vm.getMetadata().getName() + "-" + disk.toLowerCase(Locale.ROOT);
    var plain = words.replaceAll("[^a-z0-9]+", "-");
    var cut = plain.substring(0, Math.min(plain.length(), LONGEST_NAME)).replaceAll("-$", "");
    return cut + "-" + id(vm, disk).toString().substring(0, 8);
  }

  /** The same for the life of the VM, and never another VM's. */
  static String volume(VirtualMachine vm, String disk) {
    return "platter-" + id(vm, disk);
  }

  private static UUID id(VirtualMachine vm, String disk) {
    var text = vm.getMetadata().getUid() + "/" + disk;
    return UUID.nameUUIDFromBytes(text.getBytes(StandardCharsets.UTF_8));
  }

  private static Container container(String disk, ContainerSource source) {
    var fields = new HashMap<>(source.attributes());
    fields.put("image", source.image());
    fields.putIfAbsent("name", "source");
    try {
      var container = JSON.convertValue(fields, Container.class);
      for (var variable : container.getEnv()) {
        var name = String.valueOf(variable.getName());
        if (name.equals("PORT") || name.startsWith("PLATTER_")) {
          throw invalid(disk, "env: " + name + " is set by Platter; a fixed port goes into ports");
        }
      }
      return container;
    } catch (IllegalArgumentException e) {
      throw invalid(disk, "it is not a container as pods have it: " + e.getMessage());
    }
  }

  private static PlatterException invalid(String disk, String why) {
    return PlatterException.of(
        Code.INVALID, "the container of disk " + disk + " cannot be run: " + why, "");
  }

  private int port() {
    var ports = container.getPorts();
    return ports.isEmpty() || ports.getFirst().getContainerPort() == null
        ? PORT
        : ports.getFirst().getContainerPort();
  }

  private boolean encrypted() {
    var probe = container.getReadinessProbe();
    var get = probe == null ? null : probe.getHttpGet();
    return get == null || !"HTTP".equals(get.getScheme());
  }

  /** The service in a pod that has an address; the VM may be described otherwise by now. */
  static VolumeEndpoint endpoint(Pod pod, String volume) {
    var ip = pod.getStatus().getPodIP();
    var host = ip.contains(":") ? "[" + ip + "]" : ip;
    var scheme = variable(pod, "PLATTER_TLS").isEmpty() ? "http" : "https";
    var root = URI.create(scheme + "://" + host + ":" + variable(pod, "PORT"));
    return new VolumeEndpoint(volume, root, null);
  }

  static String variable(Pod pod, String name) {
    return pod.getSpec().getContainers().stream()
        .flatMap(container -> container.getEnv().stream())
        .filter(variable -> name.equals(variable.getName()) && variable.getValue() != null)
        .map(EnvVar::getValue)
        .findFirst()
        .orElse("");
  }

  static byte[] authority(Pod pod) {
    var pem = new PodView(pod).annotation(Names.SOURCE_AUTHORITY);
    return pem.getBytes(StandardCharsets.US_ASCII);
  }

  /**
   * @param spec whose account and logins the pod has
   */
  Made make(VmSpec spec) {
    var volume = volume(vm, disk);
    var authority = Authority.make("Platter CA for " + volume, Validity.ALWAYS);
    var server = authority.server(volume, List.of(Authority.Name.dns(volume)), Validity.ALWAYS);
    var secret = name(vm, disk) + "-" + UUID.randomUUID().toString().substring(0, 8);
    var ca = Pem.of(authority.certificate());
    var files =
        Map.of(
            "tls.key", Pem.of(server.key()),
            "tls.crt", Pem.of(server.certificate()),
            "ca.crt", ca);
    return new Made(
        pod(spec, secret, new String(ca, StandardCharsets.US_ASCII)),
        encrypted() ? made -> secret(made, secret, files) : null);
  }

  private Pod pod(VmSpec spec, String secret, String authority) {
    var builder =
        new PodBuilder()
            .withNewMetadata()
            .withName(name(vm, disk))
            .withNamespace(vm.getMetadata().getNamespace())
            .addToLabels(Names.SOURCE_OF, vm.getMetadata().getName())
            .addToAnnotations(Names.SOURCE_DISK, disk)
            .addToAnnotations(Names.SOURCE_AUTHORITY, authority)
            .addNewOwnerReferenceLike(VmPod.owner(vm))
            // A VM that is deleted with its dependents first still needs it.
            .withBlockOwnerDeletion(null)
            .endOwnerReference()
            .endMetadata()
            .withNewSpec()
            .withRestartPolicy("Always")
            .withEnableServiceLinks(false)
            .withServiceAccountName(spec.serviceAccountName())
            .withImagePullSecrets(spec.imagePullSecrets())
            .withNewSecurityContext()
            .withNewSeccompProfile()
            .withType("RuntimeDefault")
            .endSeccompProfile()
            .endSecurityContext()
            .withContainers(container(encrypted()))
            .endSpec();
    if (encrypted()) {
      builder
          .editSpec()
          .addNewVolume()
          .withName(TLS)
          .withNewSecret()
          .withSecretName(secret)
          .endSecret()
          .endVolume()
          .endSpec();
    }
    return builder.build();
  }

  private Container container(boolean encrypted) {
    var out =
        new ContainerBuilder(container)
            .addNewEnv()
            .withName("PORT")
            .withValue(Integer.toString(port()))
            .endEnv()
            .addNewEnv()
            .withName("PLATTER_LISTEN")
            .withNewValueFrom()
            .withNewFieldRef()
            .withFieldPath("status.podIP")
            .endFieldRef()
            .endValueFrom()
            .endEnv()
            .addNewEnv()
            .withName("PLATTER_VOLUME")
            .withValue(volume(vm, disk))
            .endEnv();
    if (encrypted) {
      out.addNewEnv().withName("PLATTER_TLS").withValue(TLS_DIRECTORY).endEnv();
      out.addNewVolumeMount()
          .withName(TLS)
          .withMountPath(TLS_DIRECTORY)
          .withReadOnly(true)
          .endVolumeMount();
    }
    var probe = container.getReadinessProbe();
    if (probe != null && probe.getHttpGet() != null) {
      // A kubelet takes HTTP unless it is told; here it is the other way round.
      var get = out.editReadinessProbe().editHttpGet();
      get.withScheme(encrypted ? "HTTPS" : "HTTP");
      if (probe.getHttpGet().getPort() == null) {
        get.withPort(new IntOrString(port()));
      }
      get.endHttpGet().endReadinessProbe();
    }
    return out.build();
  }

  static Secret secret(Pod pod, String name, Map<String, byte[]> files) {
    var data = new HashMap<String, String>();
    files.forEach((file, bytes) -> data.put(file, Base64.getEncoder().encodeToString(bytes)));
    var meta = pod.getMetadata();
    return new SecretBuilder()
        .withNewMetadata()
        .withName(name)
        .withNamespace(meta.getNamespace())
        .addToLabels(new HashMap<>(meta.getLabels()))
        .withOwnerReferences(
            new OwnerReferenceBuilder()
                .withApiVersion("v1")
                .withKind("Pod")
                .withName(meta.getName())
                .withUid(meta.getUid())
                .build())
        .endMetadata()
        .withType("Opaque")
        .withImmutable(true)
        .withData(data)
        .build();
  }
}
