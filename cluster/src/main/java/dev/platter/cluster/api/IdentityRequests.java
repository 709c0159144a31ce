package dev.platter.cluster.api;

import io.fabric8.kubernetes.api.model.Status;
import io.fabric8.kubernetes.client.KubernetesClient;
import io.fabric8.kubernetes.client.KubernetesClientException;
import io.fabric8.kubernetes.client.http.HttpRequest;
import io.fabric8.kubernetes.client.http.HttpResponse;
import io.fabric8.kubernetes.client.utils.KubernetesSerialization;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/**
 * Requests about identities, by the client library's connections and with its credentials, but
 * without its objects: an answer is read by who wants to know it, or not at all.
 */
final class IdentityRequests {
  private static final Duration PATIENCE = Duration.ofSeconds(30);
  private static final String KIND = "virtletvmidentities";

  private final KubernetesClient client;
  private final String group;

  IdentityRequests(KubernetesClient client) {
    this.client = client;
    this.group =
        client.getMasterUrl() + "apis/" + Names.IDENTITY_GROUP + "/" + Names.IDENTITY_VERSION + "/";
  }

  /** Those of all namespaces; to be closed. */
  InputStream get(String query) throws IOException {
    var request = client.getHttpClient().newHttpRequestBuilder().forStreaming();
    var answer = send(request.uri(group + KIND + query).build(), InputStream.class);
    if (!answer.isSuccessful()) {
      try (var body = answer.body()) {
        throw refused(answer.code(), new String(body.readAllBytes(), StandardCharsets.UTF_8));
      }
    }
    return answer.body();
  }

  /**
   * @param part of the object, such as {@code /status}; empty for all of it
   * @param change a merge patch
   */
  void patch(VmIdentity identity, String part, String change) {
    var meta = identity.getMetadata();
    var at = group + "namespaces/" + meta.getNamespace() + "/" + KIND + "/" + meta.getName() + part;
    var request = client.getHttpClient().newHttpRequestBuilder();
    var answer =
        send(
            request.uri(at).method("PATCH", "application/merge-patch+json", change).build(),
            byte[].class);
    if (!answer.isSuccessful()) {
      throw refused(answer.code(), new String(answer.body(), StandardCharsets.UTF_8));
    }
  }

  private <T> HttpResponse<T> send(HttpRequest request, Class<T> type) {
    var answer = client.getHttpClient().sendAsync(request, type);
    try {
      return answer.get(PATIENCE.toSeconds(), TimeUnit.SECONDS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new KubernetesClientException("interrupted", e);
    } catch (ExecutionException e) {
      throw new KubernetesClientException(String.valueOf(e.getCause()), e.getCause());
    } catch (TimeoutException e) {
      throw new KubernetesClientException("no answer from the API server", e);
    } finally {
      answer.cancel(true);
    }
  }

  private KubernetesClientException refused(int code, String body) {
    return refused(client.getKubernetesSerialization(), code, body);
  }

  private static KubernetesClientException refused(
      KubernetesSerialization json, int code, String body) {
    try {
      var status = json.unmarshal(body, Status.class);
      var said = status == null ? null : status.getMessage();
      return new KubernetesClientException(said == null ? "HTTP " + code : said, code, status);
    } catch (RuntimeException e) {
      return new KubernetesClientException("HTTP " + code, code, null);
    }
  }
}
