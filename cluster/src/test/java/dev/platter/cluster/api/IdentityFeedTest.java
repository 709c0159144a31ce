package dev.platter.cluster.api;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import io.fabric8.kubernetes.client.ConfigBuilder;
import io.fabric8.kubernetes.client.KubernetesClient;
import io.fabric8.kubernetes.client.KubernetesClientBuilder;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.Executors;
import java.util.concurrent.LinkedBlockingQueue;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What is known when an API server says this or that, or goes away. */
@Timeout(60)
class IdentityFeedTest {
  /** Ends a watch. */
  private static final String END = "";

  private HttpServer server;
  private KubernetesClient client;
  private IdentityFeed feed;

  /** The queries of all requests; below, without how long a watch is to be. */
  private final List<String> told = new CopyOnWriteArrayList<>();

  private final List<String> asked = new CopyOnWriteArrayList<>();
  private final List<String> changes = new CopyOnWriteArrayList<>();
  private final List<String> said = new CopyOnWriteArrayList<>();
  private final BlockingQueue<String> events = new LinkedBlockingQueue<>();
  private volatile String list = list(1);
  private volatile int refusal;
  private final BlockingQueue<Integer> watchRefusals = new LinkedBlockingQueue<>();

  @BeforeEach
  void start() throws IOException {
    server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
    server.setExecutor(Executors.newVirtualThreadPerTaskExecutor());
    server.createContext("/apis/virtlet.k8s/v1/virtletvmidentities", this::answer);
    server.start();
    client =
        new KubernetesClientBuilder()
            .withConfig(
                new ConfigBuilder()
                    .withMasterUrl("http://127.0.0.1:" + server.getAddress().getPort())
                    .withRequestRetryBackoffLimit(0)
                    .build())
            .build();
    feed = new IdentityFeed(client, this::changed, said::add);
  }

  private void changed(VmIdentity identity) {
    var name = identity.getMetadata().getName();
    changes.add((feed.get("shop/" + name) == null ? "-" : "+") + name);
  }

  @AfterEach
  void stop() {
    feed.close();
    client.close();
    server.stop(0);
  }

  private void answer(HttpExchange exchange) throws IOException {
    var query = String.valueOf(exchange.getRequestURI().getQuery());
    told.add(query);
    asked.add(query.replaceFirst("timeoutSeconds=\\d+&", ""));
    try (exchange) {
      if (refusal != 0) {
        refuse(exchange, refusal);
      } else if (query.startsWith("watch") && !watchRefusals.isEmpty()) {
        refuse(exchange, watchRefusals.remove());
      } else if (query.startsWith("watch")) {
        exchange.sendResponseHeaders(200, 0);
        exchange.getResponseBody().flush();
        for (var event = events.take(); !event.equals(END); event = events.take()) {
          exchange.getResponseBody().write((event + "\n").getBytes(StandardCharsets.UTF_8));
          exchange.getResponseBody().flush();
        }
      } else {
        send(exchange, 200, list);
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  private static void refuse(HttpExchange exchange, int code) throws IOException {
    send(exchange, code, "{\"kind\": \"Status\", \"code\": %d}".formatted(code));
  }

  private static void send(HttpExchange exchange, int code, String text) throws IOException {
    var bytes = text.getBytes(StandardCharsets.UTF_8);
    exchange.sendResponseHeaders(code, bytes.length);
    exchange.getResponseBody().write(bytes);
  }

  private static String identity(String name, int version) {
    return """
    {"apiVersion": "virtlet.k8s/v1", "kind": "VirtletVMIdentity", "metadata": {"name": "%s", "namespace": "shop", "uid": "u-%s",
     "resourceVersion": "%d", "generation": 1, "finalizers": ["platter.dev/disk"],
     "managedFields": [{"manager": "m", "operation": "Update", "fieldsV1": {"f:spec": {".": {}, "f:image": {}}}}]},
     "spec": {"image": "a", "nodeName": "node1"}, "status": {"ready": true, "nodeName": "node1", "novelty": {"a": 1},
     "conditions": [{"type": "Ready", "status": "True"}]}}
    """
        .formatted(name, name, version)
        .replace("\n", "");
  }

  private static String list(int version, String... items) {
    return """
    {"apiVersion": "virtlet.k8s/v1", "items": [%s], "kind": "VirtletVMIdentityList", "metadata": {"resourceVersion": "%d"}}
    """
        .formatted(String.join(",", items), version);
  }

  private static String event(String type, String object) {
    return "{\"type\": \"%s\", \"object\": %s}".formatted(type, object);
  }

  private static String watchFrom(int version) {
    return "watch=1&allowWatchBookmarks=true&resourceVersion=" + version;
  }

  private void awaitChanges(String... these) {
    await()
        .pollInterval(Duration.ofMillis(10))
        .untilAsserted(() -> assertThat(changes).containsExactly(these));
    changes.clear();
  }

  @Test
  void whatIsThereIsKnownWithoutItsHistoryAndThenEachChange() {
    list = list(7, identity("a", 3), identity("b", 5));
    feed.start().join();
    assertThat(changes).containsExactlyInAnyOrder("+a", "+b");
    changes.clear();
    var read = Objects.requireNonNull(feed.get("shop/a"));
    assertThat(read.getMetadata().getManagedFields()).isEmpty();
    assertThat(read.getMetadata().getUid()).isEqualTo("u-a");
    assertThat(read.waitsForDisk()).isTrue();
    assertThat(read.wantedNode()).isEqualTo("node1");
    assertThat(IdentityStatus.of(read).ready()).isTrue();
    assertThat(IdentityStatus.of(read).conditions()).hasSize(1);

    events.add(event("ADDED", identity("c", 8)));
    events.add(event("MODIFIED", identity("a", 9)));
    events.add(event("DELETED", identity("b", 10)));
    awaitChanges("+c", "+a", "-b");
    assertThat(feed.all()).hasSize(2);
    assertThat(feed.get("shop/b")).isNull();
    assertThat(asked).containsExactly("null", watchFrom(7));
  }

  @Test
  void aWatchThatEndsIsFollowedByOneFromThere() {
    feed.start().join();
    events.add(event("ADDED", identity("a", 8)));
    awaitChanges("+a");
    events.add(event("BOOKMARK", "{\"kind\": \"x\", \"metadata\": {\"resourceVersion\": \"20\"}}"));
    events.add(END);
    events.add(event("ADDED", identity("b", 21)));
    awaitChanges("+b");
    assertThat(asked).last().asString().endsWith("resourceVersion=20");
    assertThat(asked.stream().filter("null"::equals)).hasSize(1);
    assertThat(said).isEmpty();
  }

  @Test
  void aServerThatHasForgottenIsAskedForAllAndOnlyWhatDiffersIsNews() {
    list = list(7, identity("stays", 3), identity("goes", 4), identity("changes", 5));
    feed.start().join();
    changes.clear();
    list = list(30, identity("stays", 3), identity("changes", 25), identity("comes", 26));
    events.add(event("ERROR", "{\"kind\": \"Status\", \"code\": 410, \"message\": \"too old\"}"));
    await()
        .untilAsserted(
            () -> assertThat(changes).containsExactlyInAnyOrder("-goes", "+changes", "+comes"));
    assertThat(said).singleElement().asString().contains("too old");
    await().untilAsserted(() -> assertThat(asked).last().asString().endsWith("resourceVersion=30"));
  }

  @ParameterizedTest
  @ValueSource(ints = {410, 504})
  void aServerThatHasForgottenBeforeTheWatchIsAskedForAllToo(int code) {
    watchRefusals.add(code);
    feed.start().join();
    list = list(30, identity("a", 26));
    awaitChanges("+a");
    await()
        .untilAsserted(
            () -> assertThat(asked).containsExactly("null", watchFrom(1), "null", watchFrom(30)));
    assertThat(said).singleElement().asString().contains("HTTP " + code);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "{\"type\": \"MODIFIED\", \"object\": {\"metadata\": {\"na",
        "{\"type\": \"NOVELTY\", \"object\": {\"metadata\": {\"resourceVersion\": \"9\"}}}",
        "{\"type\": \"ERROR\", \"object\": {\"kind\": \"Status\", \"code\": 500}}"
      })
  void aWatchThatCannotBeReadIsFollowedByOneFromWhereItCouldBe(String what) {
    feed.start().join();
    events.add(event("ADDED", identity("a", 8)));
    awaitChanges("+a");
    events.add(what);
    events.add(END);
    events.add(event("ADDED", identity("b", 9)));
    awaitChanges("+b");
    assertThat(asked).containsExactly("null", watchFrom(1), watchFrom(8));
    assertThat(said).hasSize(1);
  }

  @Test
  void aConnectionThatDiesSilentlyIsNoticed() {
    feed.close();
    feed = new IdentityFeed(client, this::changed, said::add, () -> 1, 1);
    feed.start().join();
    await()
        .untilAsserted(() -> assertThat(asked).containsExactly("null", watchFrom(1), watchFrom(1)));
    assertThat(told).last().asString().contains("timeoutSeconds=1&");
  }

  @Test
  void afterItsEndNobodyIsAskedAndNothingIsNews() throws Exception {
    feed.start().join();
    await().until(() -> asked.size() == 2);
    feed.close();
    events.add(event("ADDED", identity("a", 8)));
    events.add(END);
    Thread.sleep(500); // By now there would be another watch.
    assertThat(asked).containsExactly("null", watchFrom(1));
    assertThat(changes).isEmpty();
    assertThat(said).isEmpty();
  }

  @Test
  void aServerThatDoesNotAnswerIsAskedAgainLaterEachTime() throws Exception {
    refusal = 503;
    var complete = feed.start();
    Thread.sleep(1500);
    // 0.4, 0.8 and 1.6 seconds after the first.
    assertThat(asked).hasSizeBetween(2, 3);
    assertThat(complete).isNotDone();
    refusal = 0;
    complete.join();
    events.add(event("ADDED", identity("a", 8)));
    awaitChanges("+a");
  }
}
