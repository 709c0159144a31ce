package dev.platter.cluster.webhook;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.platter.lab.Shell;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Clock;
import java.util.Base64;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Asked by curl, as the API server would. */
class WebhookServerTest {
  private static final String HOST = "platter-webhook.platter-system.svc";

  @TempDir Path work;
  private final MemoryStore store = new MemoryStore();
  private WebhookServer server;

  @BeforeEach
  void start() throws IOException {
    var certificates = new ServingCertificates(store, HOST, Clock.systemUTC());
    certificates.refresh();
    server =
        new WebhookServer(
            new InetSocketAddress(InetAddress.getLoopbackAddress(), 0),
            certificates.context(),
            new Admission(new MapObjects(), LauncherGoldenTest.OPTIONS, System.err::println),
            certificates::ready);
    server.start();
    Files.write(work.resolve("ca.crt"), store.trusted);
  }

  @AfterEach
  void stop() {
    server.close();
  }

  private String curl(String path, Object... more) {
    var command = new java.util.ArrayList<Object>();
    command.addAll(
        java.util.List.of("curl", "-sS", "--noproxy", "*", "--cacert", work.resolve("ca.crt")));
    command.addAll(java.util.List.of("--resolve", HOST + ":" + server.port() + ":127.0.0.1"));
    command.addAll(java.util.List.of(more));
    command.add("https://" + HOST + ":" + server.port() + path);
    return Shell.run(command.toArray());
  }

  private ObjectNode review(String path, String kind, String object, String old)
      throws IOException {
    var review = Json.object().put("kind", "AdmissionReview");
    var request = review.putObject("request").put("uid", "u-1").put("namespace", "tenant");
    request.putObject("kind").put("kind", kind);
    request.set("object", Yaml.one(object));
    if (!old.isEmpty()) {
      request.set("oldObject", Yaml.one(old));
    }
    Files.writeString(work.resolve("review.json"), Json.write(review));
    var answer = curl(path, "--data-binary", "@" + work.resolve("review.json"));
    var response = (ObjectNode) Json.MAPPER.readTree(answer).get("response");
    assertThat(response.path("uid").asText()).isEqualTo("u-1");
    return response;
  }

  @Test
  void aPodThatIsAVmGetsThePatchThatMakesItALauncherPod() throws IOException {
    var response =
        review(
            "/mutate",
            "Pod",
            """
            metadata: {name: vm, annotations: {kubernetes.io/target-runtime: virtlet.cloud}}
            spec: {containers: [{name: vm, image: virtlet.cloud/cirros}]}
            """,
            "");
    assertThat(response.path("allowed").asBoolean()).isTrue();
    assertThat(response.path("patchType").asText()).isEqualTo("JSONPatch");
    var patch = Json.MAPPER.readTree(Base64.getDecoder().decode(response.path("patch").asText()));
    assertThat(patch)
        .extracting(operation -> operation.path("path").asText())
        .containsExactly("/metadata/labels", "/metadata/annotations", "/spec");
    assertThat(patch.get(2).at("/value/containers/0/image").asText())
        .isEqualTo("registry.example/platter:1");
  }

  @Test
  void aVmThatCannotWorkIsRefusedWithALineForEachReason() throws IOException {
    var response =
        review(
            "/validate",
            "VirtualMachine",
            """
            metadata: {name: vm}
            spec:
              running: false
              domain:
                memory: {guest: 1Mi}
                devices: {disks: [{source: {image: a}, copy: {mode: sometimes}}]}
            """,
            "");
    assertThat(response.path("allowed").asBoolean()).isFalse();
    assertThat(response.at("/status/code").asInt()).isEqualTo(422);
    assertThat(response.at("/status/message").asText().lines()).hasSize(2);
    assertThat(response.at("/status/message").asText())
        .contains("spec.domain.memory: a guest needs 16Mi at least")
        .contains("disks[0].copy.mode: expected one of");
  }

  @Test
  void aTenantsVmCannotNameAFileOfTheNode() throws IOException {
    var response =
        review(
            "/validate",
            "VirtualMachineGroup",
            """
            metadata: {name: group}
            spec: {template: {spec: {domain: {devices: {disks: [{source: {file: /etc/shadow}}]}}}}}
            """,
            "");
    assertThat(response.at("/status/message").asText())
        .isEqualTo(
            "spec.template: disk sda: a file source is a path on a node; use an image or a claim"
                + " instead.");
  }

  @Test
  void anObjectThatIsNoLongerValidCanBeDeleted() throws IOException {
    var bad = "spec: {domain: {devices: {disks: [{source: {file: /a}}]}}}\n";
    var deleted = "metadata: {name: vm, deletionTimestamp: '2026-01-01T00:00:00Z'}\n" + bad;
    assertThat(review("/validate", "VirtualMachine", deleted, deleted).path("allowed").asBoolean())
        .isTrue();
    var same = "metadata: {name: vm, labels: {a: b}}\n" + bad;
    assertThat(
            review("/validate", "VirtualMachine", same, "metadata: {name: vm}\n" + bad)
                .path("allowed")
                .asBoolean())
        .isTrue();
    assertThat(review("/validate", "VirtualMachine", same, "").path("allowed").asBoolean())
        .isFalse();
  }

  @Test
  void whatIsNoReviewIsABadRequest() throws IOException {
    Object[] status = {"-o", "/dev/null", "-w", "%{http_code}", "--data-binary"};
    Files.write(work.resolve("large"), new byte[(3 << 20) + 1]);
    assertThat(curl("/mutate", with(status, "{"))).isEqualTo("400");
    assertThat(curl("/mutate", with(status, "{\"request\": {}}"))).isEqualTo("400");
    assertThat(curl("/mutate", with(status, "@" + work.resolve("large")))).isEqualTo("413");
    assertThat(curl("/mutate", "-o", "/dev/null", "-w", "%{http_code}")).isEqualTo("405");
    assertThat(curl("/readyz")).isEqualTo("ok\n");
  }

  private static Object[] with(Object[] some, Object last) {
    var out = java.util.Arrays.copyOf(some, some.length + 1);
    out[some.length] = last;
    return out;
  }
}
