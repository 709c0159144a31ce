package dev.platter.cluster;

import dev.platter.cluster.api.DiskUpload;
import dev.platter.cluster.api.FilledClaim;
import dev.platter.cluster.api.Names;
import dev.platter.cluster.api.UploadSecret;
import dev.platter.model.PlatterException;
import dev.platter.model.PlatterException.Code;
import dev.platter.node.x509.Pem;
import dev.platter.node.x509.TlsContexts;
import io.fabric8.kubernetes.api.model.ObjectMetaBuilder;
import io.fabric8.kubernetes.api.model.PersistentVolumeClaim;
import io.fabric8.kubernetes.api.model.PersistentVolumeClaimBuilder;
import io.fabric8.kubernetes.api.model.Pod;
import io.fabric8.kubernetes.api.model.Quantity;
import io.fabric8.kubernetes.client.KubernetesClient;
import io.fabric8.kubernetes.client.KubernetesClientException;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.HttpURLConnection;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.util.Base64;
import java.util.Map;
import java.util.Optional;
import javax.net.ssl.SSLContext;
import org.jspecify.annotations.Nullable;

/** Claims that wait for a disk in the cluster of a kubeconfig, for the people who have it. */
public final class ClusterUploads {
  private static final ApiServer SERVER =
      new ApiServer(
          "It takes rights to get persistentvolumeclaims, diskuploads, pods and secrets, and to"
              + " create pods/portforward.");

  private final KubernetesClient client;
  private final String namespace;

  public ClusterUploads(KubernetesClient client, String namespace) {
    this.client = client;
    this.namespace = namespace;
  }

  /**
   * A claim that is to be made.
   *
   * @param storageClass null for the cluster's default one
   * @param format what is going to be sent, whatever it looks like
   */
  public record Wanted(
      String name,
      String size,
      @Nullable String storageClass,
      boolean block,
      String accessMode,
      @Nullable String format) {}

  /** Makes the claim, and what says that its disk is sent; what is there already stays. */
  public void make(Wanted wanted) {
    var upload = new DiskUpload();
    upload.setMetadata(
        new ObjectMetaBuilder().withName(wanted.name()).withNamespace(namespace).build());
    upload.setSpec(new DiskUpload.Spec(wanted.format(), true));
    var claim =
        new PersistentVolumeClaimBuilder()
            .withNewMetadata()
            .withName(wanted.name())
            .withNamespace(namespace)
            .endMetadata()
            .withNewSpec()
            .withAccessModes(wanted.accessMode())
            .withVolumeMode(wanted.block() ? "Block" : "Filesystem")
            .withStorageClassName(wanted.storageClass())
            .withNewResources()
            .addToRequests("storage", new Quantity(wanted.size()))
            .endResources()
            .withNewDataSourceRef(Names.GROUP, DiskUpload.KIND, wanted.name(), null)
            .endSpec()
            .build();
    SERVER.asked(() -> absent(() -> client.resource(upload).create()));
    SERVER.asked(() -> absent(() -> client.resource(claim).create()));
  }

  private static boolean absent(Runnable creation) {
    try {
      creation.run();
      return true;
    } catch (KubernetesClientException e) {
      if (e.getCode() == HttpURLConnection.HTTP_CONFLICT) {
        return false;
      }
      throw e;
    }
  }

  /** As it is now. */
  public PersistentVolumeClaim claim(String name) {
    var found =
        SERVER.asked(
            () ->
                Optional.ofNullable(
                    client.persistentVolumeClaims().inNamespace(namespace).withName(name).get()));
    var claim =
        found.orElseThrow(
            () ->
                PlatterException.of(
                    Code.NOT_FOUND,
                    "there is no claim " + namespace + "/" + name,
                    "Say --size, and it is made."));
    var from = claim.getSpec().getDataSourceRef();
    if (from == null
        || !Names.GROUP.equals(from.getApiGroup())
        || !DiskUpload.KIND.equals(from.getKind())) {
      throw PlatterException.of(
          Code.CONFLICT,
          "the claim " + namespace + "/" + name + " does not wait for a disk",
          "Its dataSourceRef has to name a DiskUpload, from the start.");
    }
    return claim;
  }

  /** Whether it has its volume, and so its disk. */
  public static boolean isBound(PersistentVolumeClaim claim) {
    return claim.getStatus() != null && "Bound".equals(claim.getStatus().getPhase());
  }

  /** What is said of it, once somebody has looked at it. */
  public Optional<FilledClaim> said(PersistentVolumeClaim claim) {
    var name = claim.getSpec().getDataSourceRef().getName();
    var upload =
        SERVER
            .asked(
                () ->
                    Optional.ofNullable(
                        client
                            .resources(DiskUpload.class)
                            .inNamespace(namespace)
                            .withName(name)
                            .get()))
            .orElseThrow(
                () ->
                    PlatterException.of(
                        Code.NOT_FOUND,
                        "there is no DiskUpload %s/%s, which the claim names"
                            .formatted(namespace, name),
                        "Make it; nobody takes the disk before."));
    return upload.said().claims().stream()
        .filter(it -> it.uid().equals(claim.getMetadata().getUid()))
        .findFirst();
  }

  /** If the disk was lost before the claim had it, another pod waits for it. */
  public void requireTaken(PersistentVolumeClaim claim, Door door) {
    var pod =
        SERVER.asked(
            () ->
                Optional.ofNullable(
                    client.pods().inNamespace(namespace).withName(pod(claim)).get()));
    if (pod.filter(it -> !it.getMetadata().getUid().equals(door.pod())).isPresent()) {
      throw PlatterException.of(
          Code.UNAVAILABLE,
          "the disk was lost with the pod that took it, before the claim had it",
          "Give the same command again.");
    }
  }

  private static String pod(PersistentVolumeClaim claim) {
    return Names.FILLS_PREFIX + claim.getMetadata().getUid();
  }

  /** Where the disk is taken, if there is such a place now. */
  public Optional<Door> door(PersistentVolumeClaim claim) {
    return SERVER.asked(
        () ->
            Optional.ofNullable(client.pods().inNamespace(namespace).withName(pod(claim)).get())
                .filter(ClusterUploads::isReady)
                .map(this::open));
  }

  private static boolean isReady(Pod pod) {
    return pod.getStatus() != null
        && pod.getStatus().getConditions().stream()
            .anyMatch(it -> it.getType().equals("Ready") && it.getStatus().equals("True"));
  }

  private Door open(Pod pod) {
    var name = pod.getMetadata().getName();
    var secret = client.secrets().inNamespace(namespace).withName(name).require().getData();
    try {
      var tunnel = PodTunnel.open(client, namespace, name, UploadSecret.PORT);
      return new Door(tunnel, secret, pod.getMetadata().getUid());
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /**
   * A port of this machine that leads to the pod, through the API server.
   *
   * @param pod its UID
   */
  public record Door(PodTunnel tunnel, Map<String, String> secret, String pod)
      implements AutoCloseable {
    public int port() {
      return tunnel.port();
    }

    /** Why nothing comes through, if the API server has said it. */
    public PlatterException explained(PlatterException failure) {
      return failure.code() == Code.UNAVAILABLE
          ? tunnel.refusal().map(why -> SERVER.says(why, failure)).orElse(failure)
          : failure;
    }

    public String token() {
      return new String(file(UploadSecret.TOKEN), StandardCharsets.US_ASCII);
    }

    public SSLContext trust() throws IOException {
      try {
        return TlsContexts.client(Pem.certificates(file(UploadSecret.AUTHORITY)).getFirst());
      } catch (GeneralSecurityException e) {
        throw new IOException("the certificate of the pod's authority cannot be used", e);
      }
    }

    private byte[] file(String name) {
      return Base64.getDecoder().decode(secret.getOrDefault(name, ""));
    }

    @Override
    public void close() throws IOException {
      tunnel.close();
    }

    /** Shows nothing of the token. */
    @Override
    public String toString() {
      return "Door";
    }
  }
}
