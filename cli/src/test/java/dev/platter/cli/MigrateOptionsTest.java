package dev.platter.cli;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** What the options of both migrate commands become; the API server knows every object. */
class MigrateOptionsTest {
  private static final String KUBECONFIG = "kubeconfig";

  @TempDir Path work;
  private HttpServer server;
  private @Nullable String kubeconfig;
  private byte @Nullable [] answer;
  private final List<JsonNode> made = new CopyOnWriteArrayList<>();
  private final List<String> asked = new CopyOnWriteArrayList<>();
  private final StringWriter out = new StringWriter();
  private final StringWriter err = new StringWriter();

  @BeforeEach
  void start() throws IOException {
    server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
    server.createContext("/", this::answer);
    server.start();
    var file =
        Files.writeString(
            work.resolve("kubeconfig"),
            """
            apiVersion: v1
            kind: Config
            current-context: c
            clusters: [{name: c, cluster: {server: "http://127.0.0.1:%d"}}]
            contexts: [{name: c, context: {cluster: c, user: u}}]
            users: [{name: u, user: {token: t}}]
            """
                .formatted(server.getAddress().getPort()));
    kubeconfig = System.getProperty(KUBECONFIG);
    System.setProperty(KUBECONFIG, file.toString());
  }

  @AfterEach
  void stop() {
    server.stop(0);
    if (kubeconfig == null) {
      System.clearProperty(KUBECONFIG);
    } else {
      System.setProperty(KUBECONFIG, kubeconfig);
    }
  }

  private void answer(HttpExchange exchange) throws IOException {
    try (exchange) {
      asked.add(exchange.getRequestMethod() + " " + exchange.getRequestURI());
      var body = exchange.getRequestBody().readAllBytes();
      if (exchange.getRequestMethod().equals("POST")) {
        made.add(new ObjectMapper().readTree(body));
        body = answer == null ? body : answer;
      } else {
        body =
            """
            {"apiVersion": "platter.dev/v1alpha1", "kind": "VirtualMachine", "metadata": {"name": "db"}}
            """
                .getBytes(StandardCharsets.UTF_8);
      }
      exchange.getResponseHeaders().add("Content-Type", "application/json");
      exchange.sendResponseHeaders(200, body.length);
      exchange.getResponseBody().write(body);
    }
  }

  /** A migration that has failed for this reason, as one that was made is answered. */
  private static byte[] failed(String reason) {
    return """
        {"apiVersion": "platter.dev/v1alpha1", "kind": "VirtualMachineMigration",
         "metadata": {"name": "db-1", "namespace": "default"}, "spec": {"vm": "db"},
         "status": {"phase": "Failed", "conditions": [
           {"type": "Complete", "status": "False", "reason": "%s", "message": "it is over"}]}}
        """
        .formatted(reason)
        .getBytes(StandardCharsets.UTF_8);
  }

  private int kubectl(String... args) {
    return KubectlMain.run(new PrintWriter(out), new PrintWriter(err), args);
  }

  @Test
  void theTimeForEachGibIsSaidByTheMigration() {
    assertThat(kubectl("migrate", "db", "--no-wait", "--timeout-per-gib", "300"))
        .as(err::toString)
        .isZero();
    assertThat(made).hasSize(1);
    var spec = made.getFirst().path("spec");
    assertThat(spec.path("vm").asText()).isEqualTo("db");
    assertThat(spec.path("completionTimeoutPerGiB").asInt()).isEqualTo(300);
  }

  @Test
  void andNotIfNobodyGivesIt() {
    assertThat(kubectl("migrate", "db", "--no-wait")).as(err::toString).isZero();
    assertThat(made)
        .singleElement()
        .satisfies(
            it -> assertThat(it.path("spec").hasNonNull("completionTimeoutPerGiB")).isFalse());
  }

  @ParameterizedTest
  @CsvSource({"TimedOut, 9", "Unavailable, 6"})
  void aMoveThatTookTooLongEndsAsItDoesOnOneMachine(String reason, int status) {
    answer = failed(reason);
    assertThat(kubectl("migrate", "db")).as(err::toString).isEqualTo(status);
    assertThat(err.toString()).contains("the VM db does not move: it is over");
  }

  @ParameterizedTest
  @ValueSource(strings = {"0", "-5", "86401", "99999999999", "5m", "1.5", ""})
  void whatIsNoNumberOfSecondsIsRefusedInTheSameWordsAndNobodyIsAsked(String wrong) {
    assertThat(kubectl("migrate", "db", "--no-wait", "--timeout-per-gib=" + wrong)).isEqualTo(3);
    assertThat(asked).isEmpty();
    assertThat(err.toString())
        .contains(
            "'" + wrong + "' is not a number of seconds for --timeout-per-gib", "from 1 to 86400");
    var here =
        Platter.run(
            "migrate",
            "db",
            "--state",
            work.resolve("s"),
            "--to",
            work.resolve("t"),
            "--timeout-per-gib=" + wrong);
    assertThat(here.status()).isEqualTo(3);
    assertThat(here.err()).isEqualTo(err.toString());
  }

  @Test
  void bothHelpTextsHaveTheOption() {
    assertThat(kubectl("migrate", "--help")).isZero();
    assertThat(out.toString()).contains("--timeout-per-gib=SECONDS");
    assertThat(Platter.run("migrate", "--help").out()).contains("--timeout-per-gib=SECONDS");
  }
}
