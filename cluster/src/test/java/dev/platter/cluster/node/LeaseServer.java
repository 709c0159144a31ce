package dev.platter.cluster.node;

import static java.nio.charset.StandardCharsets.UTF_8;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import io.fabric8.kubernetes.api.model.coordination.v1.Lease;
import io.fabric8.kubernetes.client.Config;
import io.fabric8.kubernetes.client.ConfigBuilder;
import io.fabric8.kubernetes.client.KubernetesClient;
import io.fabric8.kubernetes.client.KubernetesClientBuilder;
import io.fabric8.kubernetes.client.utils.Serialization;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;

/** As much of an API server as taking a Lease and giving it back needs; it knows no conflicts. */
final class LeaseServer implements AutoCloseable {
  private final Map<String, byte[]> leases = new ConcurrentHashMap<>();
  private final AtomicInteger taken = new AtomicInteger();
  private final HttpServer server;
  private final KubernetesClient client;

  LeaseServer() throws IOException {
    server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
    server.createContext("/", this::answer);
    server.start();
    var url = "http://127.0.0.1:" + server.getAddress().getPort();
    client =
        new KubernetesClientBuilder()
            .withConfig(new ConfigBuilder(Config.empty()).withMasterUrl(url).build())
            .build();
  }

  private void answer(HttpExchange exchange) throws IOException {
    try (exchange) {
      var name = exchange.getRequestURI().getPath().replaceFirst(".*/", "");
      var body = exchange.getRequestBody().readAllBytes();
      var answer =
          switch (exchange.getRequestMethod()) {
            case "POST" -> {
              var lease = Serialization.unmarshal(new String(body, UTF_8), Lease.class);
              lease.getMetadata().setResourceVersion("1");
              taken.incrementAndGet();
              leases.put(
                  lease.getMetadata().getName(), Serialization.asJson(lease).getBytes(UTF_8));
              yield body;
            }
            case "DELETE" -> leases.remove(name);
            default -> leases.get(name);
          };
      exchange.getResponseHeaders().add("Content-Type", "application/json");
      exchange.sendResponseHeaders(answer == null ? 404 : 200, answer == null ? -1 : answer.length);
      if (answer != null) {
        exchange.getResponseBody().write(answer);
      }
    }
  }

  KubernetesClient client() {
    return client;
  }

  int taken() {
    return taken.get();
  }

  int held() {
    return leases.size();
  }

  @Override
  public void close() {
    client.close();
    server.stop(0);
  }
}
