package dev.platter.cluster.node;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import dev.platter.model.PlatterException;
import dev.platter.plan.VmKey;
import io.fabric8.kubernetes.client.Config;
import io.fabric8.kubernetes.client.ConfigBuilder;
import io.fabric8.kubernetes.client.KubernetesClient;
import io.fabric8.kubernetes.client.KubernetesClientBuilder;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.UUID;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Two nodes and the status of one VM, at a server that knows nothing else. */
class KubeWhereaboutsTest {
  private static final VmKey KEY = new VmKey("shop", "web");
  private static final UUID MOVE = UUID.fromString("aaaaaaaa-0000-0000-0000-000000000000");
  private static final ObjectMapper JSON = new ObjectMapper();

  private HttpServer server;
  private KubernetesClient client;
  private ObjectNode vm;
  private KubeWhereabouts here;
  private KubeWhereabouts there;

  @BeforeEach
  void open() throws IOException {
    vm =
        (ObjectNode)
            JSON.readTree(
                """
                {"apiVersion": "platter.dev/v1alpha1", "kind": "VirtualMachine",
                 "metadata": {"namespace": "shop", "name": "web", "uid": "u", "resourceVersion": "1"},
                 "status": {"nodeName": "node1"}}""");
    server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
    server.createContext("/", this::answer);
    server.start();
    client =
        new KubernetesClientBuilder()
            .withConfig(
                new ConfigBuilder(Config.empty())
                    .withMasterUrl("http://127.0.0.1:" + server.getAddress().getPort())
                    .build())
            .build();
    here = new KubeWhereabouts(client, "node1");
    there = new KubeWhereabouts(client, "node2");
  }

  @AfterEach
  void close() {
    client.close();
    server.stop(0);
  }

  private void answer(HttpExchange exchange) throws IOException {
    try (exchange) {
      var body = exchange.getRequestBody().readAllBytes();
      if (body.length > 0) {
        status().setAll((ObjectNode) JSON.readTree(body).get("status"));
      }
      var answer = vm.toString().getBytes(UTF_8);
      exchange.getResponseHeaders().add("Content-Type", "application/json");
      exchange.sendResponseHeaders(200, answer.length);
      exchange.getResponseBody().write(answer);
    }
  }

  private ObjectNode status() {
    return (ObjectNode) vm.get("status");
  }

  @Test
  void whatHasComeHasComeEvenIfItsPodIsGoneBeforeAnybodyAsks() {
    here.hand(KEY, MOVE, "node2");
    there.decide(KEY, MOVE);
    status().remove("podName");
    assertThat(here.hasLeft(KEY, MOVE)).isTrue();
    assertThat(there.hasCome(KEY, MOVE)).isTrue();
  }

  @Test
  void whatWasStartedThereHasNotComeByTheMove() {
    status().put("nodeName", "node2");
    assertThat(there.hasCome(KEY, MOVE)).isFalse();
  }

  @Test
  void whatWasTakenBackCannotBeTaken() {
    here.hand(KEY, MOVE, "node2");
    assertThat(here.hasLeft(KEY, MOVE)).isFalse();
    assertThatThrownBy(() -> there.decide(KEY, MOVE)).isInstanceOf(PlatterException.class);
  }
}
