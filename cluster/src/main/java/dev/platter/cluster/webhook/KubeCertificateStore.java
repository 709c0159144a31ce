package dev.platter.cluster.webhook;

import io.fabric8.kubernetes.api.model.SecretBuilder;
import io.fabric8.kubernetes.client.KubernetesClient;
import io.fabric8.kubernetes.client.KubernetesClientException;
import java.net.HttpURLConnection;
import java.util.Base64;
import java.util.HashMap;
import java.util.Map;
import java.util.Objects;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * In a Secret that the installation brings along empty: so the controller needs the right to change
 * this one, and none to make Secrets.
 */
public final class KubeCertificateStore implements CertificateStore {
  private final KubernetesClient client;
  private final String namespace;
  private final String secret;
  private final Consumer<byte[]> trust;

  /**
   * @param trust tells those who call of the authorities
   */
  public KubeCertificateStore(
      KubernetesClient client, String namespace, String secret, Consumer<byte[]> trust) {
    this.client = client;
    this.namespace = namespace;
    this.secret = secret;
    this.trust = trust;
  }

  @Override
  public Stored read() {
    var found = client.secrets().inNamespace(namespace).withName(secret).require();
    var data = new HashMap<String, byte[]>();
    if (found.getData() != null) {
      found.getData().forEach((key, value) -> data.put(key, decoded(value)));
    }
    return new Stored(found.getMetadata().getResourceVersion(), data);
  }

  private static byte[] decoded(@Nullable String base64) {
    return Base64.getDecoder().decode(Objects.requireNonNullElse(base64, ""));
  }

  @Override
  public boolean replace(String version, Map<String, byte[]> data) {
    var found = client.secrets().inNamespace(namespace).withName(secret).require();
    var changed =
        new SecretBuilder(found).editMetadata().withResourceVersion(version).endMetadata();
    data.forEach((key, value) -> changed.addToData(key, Base64.getEncoder().encodeToString(value)));
    try {
      client.resource(changed.build()).update();
      return true;
    } catch (KubernetesClientException e) {
      if (e.getCode() == HttpURLConnection.HTTP_CONFLICT) {
        return false;
      }
      throw e;
    }
  }

  @Override
  public void trust(byte[] bundle) {
    trust.accept(bundle);
  }
}
