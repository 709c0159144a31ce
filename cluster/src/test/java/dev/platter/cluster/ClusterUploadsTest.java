package dev.platter.cluster;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatNoException;

import com.sun.net.httpserver.HttpServer;
import dev.platter.model.PlatterException;
import io.fabric8.kubernetes.api.model.PersistentVolumeClaim;
import io.fabric8.kubernetes.client.ConfigBuilder;
import io.fabric8.kubernetes.client.KubernetesClient;
import io.fabric8.kubernetes.client.KubernetesClientBuilder;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Who sends a disk is told when nobody will ever take it, instead of waiting for ever. */
class ClusterUploadsTest {
  private static final String CLAIM = "/api/v1/namespaces/shop/persistentvolumeclaims/root";
  private static final String UPLOAD =
      "/apis/platter.dev/v1alpha1/namespaces/shop/diskuploads/sent";
  private static final String POD = "/api/v1/namespaces/shop/pods/platter-fill-u-1";

  /** What the server has, by path. */
  private final Map<String, String> objects = new ConcurrentHashMap<>();

  private HttpServer server;
  private KubernetesClient client;
  private ClusterUploads uploads;

  @BeforeEach
  void start() throws IOException {
    server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
    server.createContext(
        "/",
        exchange -> {
          try (exchange) {
            var found = objects.get(exchange.getRequestURI().getPath());
            var text = found == null ? "{\"kind\": \"Status\", \"code\": 404}" : found;
            var bytes = text.getBytes(StandardCharsets.UTF_8);
            exchange.getResponseHeaders().set("Content-Type", "application/json");
            exchange.sendResponseHeaders(found == null ? 404 : 200, bytes.length);
            exchange.getResponseBody().write(bytes);
          }
        });
    server.start();
    client =
        new KubernetesClientBuilder()
            .withConfig(
                new ConfigBuilder(io.fabric8.kubernetes.client.Config.empty())
                    .withMasterUrl("http://127.0.0.1:" + server.getAddress().getPort())
                    .build())
            .build();
    uploads = new ClusterUploads(client, "shop");
    objects.put(
        CLAIM,
        """
        {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "root", "uid": "u-1"},
         "spec": {"dataSourceRef": {"apiGroup": "platter.dev", "kind": "DiskUpload", "name": "sent"}}}
        """);
  }

  @AfterEach
  void stop() {
    client.close();
    server.stop(0);
  }

  @Test
  void aClaimThatNamesNothingIsNotWaitedFor() {
    var claim = uploads.claim("root");
    assertThatExceptionOfType(PlatterException.class)
        .isThrownBy(() -> uploads.said(claim))
        .withMessage("there is no DiskUpload shop/sent, which the claim names");
    objects.put(
        UPLOAD,
        """
        {"apiVersion": "platter.dev/v1alpha1", "kind": "DiskUpload", "metadata": {"name": "sent"},
         "status": {"claims": [{"name": "root", "uid": "u-1", "message": "it is starting"}]}}
        """);
    assertThat(uploads.said(claim).orElseThrow().message()).isEqualTo("it is starting");
  }

  @Test
  void aDiskThatWasLostWithItsPodIsToldOf() throws IOException {
    var claim = uploads.claim("root");
    try (var nowhere = PodTunnel.open(client, "shop", "none", 1)) {
      lostWith(claim, new ClusterUploads.Door(nowhere, Map.of(), "pod-1"));
    }
  }

  private void lostWith(PersistentVolumeClaim claim, ClusterUploads.Door door) {
    // It is gone once the claim is bound, of which nobody may know yet.
    assertThatNoException().isThrownBy(() -> uploads.requireTaken(claim, door));
    objects.put(POD, pod("pod-1"));
    assertThatNoException().isThrownBy(() -> uploads.requireTaken(claim, door));
    objects.put(POD, pod("pod-2"));
    assertThatExceptionOfType(PlatterException.class)
        .isThrownBy(() -> uploads.requireTaken(claim, door))
        .withMessageContaining("the disk was lost");
  }

  private static String pod(String uid) {
    return """
    {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "platter-fill-u-1", "uid": "%s"}}
    """
        .formatted(uid);
  }
}
