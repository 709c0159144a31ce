package dev.platter.cluster.webhook;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.awaitility.Awaitility.await;

import dev.platter.cluster.api.UploadToken;
import dev.platter.cluster.controller.Controller;
import dev.platter.cluster.install.ApiServer;
import dev.platter.cluster.install.ForeignCdi;
import dev.platter.cluster.install.Install;
import dev.platter.cluster.metrics.Metrics;
import dev.platter.lab.Shell;
import dev.platter.model.PlatterException;
import io.fabric8.kubernetes.client.ConfigBuilder;
import io.fabric8.kubernetes.client.KubernetesClient;
import io.fabric8.kubernetes.client.KubernetesClientBuilder;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Clock;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * What virtctl asks of an API server, at a real one: it passes requests for tokens on to us, and
 * asks us about claims. We have the controller's rights alone. Kubelets there are none.
 */
class UploadsAtApiServerTest {
  private static final String NAMESPACE = Install.DEFAULT_NAMESPACE;
  private static final String ACCOUNT =
      "system:serviceaccount:" + NAMESPACE + ":platter-controller";
  private static final String API = "/apis/upload.cdi.kubevirt.io/v1beta1";
  private static final String CLAIM =
      """
      apiVersion: v1
      kind: PersistentVolumeClaim
      metadata:
        name: %s
        annotations: {cdi.kubevirt.io/storage.upload.target: "", cdi.kubevirt.io/storage.contentType: %s}
      spec:
        accessModes: [ReadWriteOnce]
        storageClassName: fast
        resources: {requests: {storage: 1Gi}}
      """;

  @TempDir static Path work;
  private static ApiServer api;
  private static KubernetesClient client;
  private static ServingCertificates uploads;
  private static WebhookServer server;
  private static Controller controller;

  @BeforeAll
  static void install() throws Exception {
    api = ApiServer.start(work);
    applied(
        Install.yaml(
            new Install.Options(
                NAMESPACE,
                "registry.example/platter:1",
                "IfNotPresent",
                List.of(),
                "loop*",
                Install.ImageBounds.NONE,
                List.of(),
                Install.DEFAULT_KUBELET_ROOT,
                false,
                true)));
    applied(
        """
        apiVersion: storage.k8s.io/v1
        kind: StorageClass
        metadata: {name: fast}
        provisioner: csi.example
        ---
        # Nobody gathers what is aggregated here.
        apiVersion: rbac.authorization.k8s.io/v1
        kind: RoleBinding
        metadata: {name: sends, namespace: default}
        roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: platter-send-disks}
        subjects: [{kind: User, name: alice, apiGroup: rbac.authorization.k8s.io}]
        """);
    try (var admin = api.client()) {
      client =
          new KubernetesClientBuilder()
              .withConfig(
                  new ConfigBuilder(admin.getConfiguration())
                      .withImpersonateUsername(ACCOUNT)
                      .build())
              .build();
    }
    serve();
    controller =
        Controller.start(
            client,
            new Controller.Settings(
                NAMESPACE,
                "one",
                Duration.ofMinutes(10),
                "platter:1",
                "Never",
                Optional.empty(),
                uploads::signer),
            new Metrics());
  }

  /** There is no network of services: the name of ours leads to this JVM. */
  private static void serve() throws Exception {
    var trust = new KubeTrust(client, NAMESPACE);
    var host = Webhook.NAME + "." + NAMESPACE + ".svc";
    var certificates =
        new ServingCertificates(
            new KubeCertificateStore(client, NAMESPACE, Webhook.NAME, trust::webhooks),
            host,
            Clock.systemUTC());
    certificates.refresh();
    uploads = Webhook.uploads(client, NAMESPACE);
    uploads.refresh();
    trust.uploads(certificates.bundle());
    server =
        new WebhookServer(
            new InetSocketAddress(InetAddress.getLoopbackAddress(), 0),
            certificates.context(),
            new Admission(new KubeObjects(client), LauncherGoldenTest.OPTIONS, System.err::println),
            new TokenRequests(
                new KubeTokenCluster(client, Clock.systemUTC()),
                uploads::signer,
                Clock.systemUTC()),
            certificates::ready);
    server.start();
    api.kubectl("-n", NAMESPACE, "delete", "service", Webhook.NAME);
    applied(
        """
        apiVersion: v1
        kind: Service
        metadata: {name: %s, namespace: %s}
        spec: {type: ExternalName, externalName: localhost}
        """
            .formatted(Webhook.NAME, NAMESPACE));
    var port = "[{op: replace, path: %s/service/port, value: " + server.port() + "}]";
    api.kubectl(
        "patch",
        "mutatingwebhookconfiguration",
        "platter-uploads",
        "--type=json",
        "-p",
        port.formatted("/webhooks/0/clientConfig"));
    api.kubectl(
        "patch",
        "apiservice",
        "v1beta1.upload.cdi.kubevirt.io",
        "--type=json",
        "-p",
        port.formatted("/spec"));
    api.kubectl(
        "wait",
        "--for=condition=Available",
        "apiservice/v1beta1.upload.cdi.kubevirt.io",
        "--timeout=60s");
  }

  private static void applied(String yaml) throws IOException {
    var result = api.apply(yaml);
    assertThat(result.status()).as(result.output()).isZero();
  }

  @AfterAll
  static void stop() {
    for (AutoCloseable open : new AutoCloseable[] {controller, server, client, api}) {
      try {
        if (open != null) {
          open.close();
        }
      } catch (Exception e) {
        throw new AssertionError(e);
      }
    }
  }

  private static Shell.Result ask(String user, String namespace, String claim) throws IOException {
    var request =
        Files.writeString(
            work.resolve("request.json"),
            """
            {"apiVersion": "upload.cdi.kubevirt.io/v1beta1", "kind": "UploadTokenRequest",
             "metadata": {"name": "token-for-virtctl"}, "spec": {"pvcName": "%s"}}
            """
                .formatted(claim));
    return api.tryKubectl(
        "create",
        "--as=" + user,
        "--raw",
        API + "/namespaces/" + namespace + "/uploadtokenrequests",
        "-f",
        request);
  }

  private static String annotation(String claim, String name) {
    return api.kubectl(
        "get",
        "pvc",
        claim,
        "-o",
        "jsonpath={.metadata.annotations.cdi\\.kubevirt\\.io/storage\\." + name + "}");
  }

  @Test
  void whoMaySendADiskGetsATokenForThatClaimAndNobodyElseDoes() throws Exception {
    applied(CLAIM.formatted("root", "kubevirt"));
    var answer = ask("alice", "default", "root");
    assertThat(answer.status()).as(answer.output()).isZero();
    var uid = api.kubectl("get", "pvc", "root", "-o", "jsonpath={.metadata.uid}");
    var token = Json.MAPPER.readTree(answer.out()).at("/status/token").asText();
    var keys = List.of(uploads.signer().certificate().getPublicKey());
    assertThat(UploadToken.read(token, keys, Instant.now()))
        .map(UploadToken::pod)
        .contains("platter-fill-" + uid);

    assertThat(ask("mallory", "default", "root").err()).contains("Forbidden");
    assertThat(ask("alice", "kube-system", "root").err()).contains("Forbidden");
    assertThat(ask("alice", "default", "nothing").err()).contains("NotFound");
    assertThat(api.tryKubectl("get", "uploadtokenrequests").err()).contains("MethodNotAllowed");
    assertThat(api.kubectl("api-resources", "--api-group=upload.cdi.kubevirt.io"))
        .contains("UploadTokenRequest");
  }

  @Test
  void aClaimOfVirtctlGetsAPodThatItHearsOf() throws Exception {
    applied(CLAIM.formatted("sent", "kubevirt"));
    assertThat(api.kubectl("get", "pvc", "sent", "-o", "jsonpath={.spec.dataSourceRef.kind}"))
        .isEqualTo("DiskUpload");
    await()
        .atMost(Duration.ofSeconds(60))
        .until(() -> annotation("sent", "pod\\.phase"), "Pending"::equals);
    assertThat(annotation("sent", "pod\\.ready")).isEqualTo("false");
    var uid = api.kubectl("get", "pvc", "sent", "-o", "jsonpath={.metadata.uid}");
    assertThat(
            api.kubectl(
                "get", "diskupload", "sent", "-o", "jsonpath={.metadata.ownerReferences[0].uid}"))
        .isEqualTo(uid);
    var pod = "platter-fill-" + uid;
    api.kubectl(
        "patch",
        "pod",
        pod,
        "--subresource=status",
        "-p",
        """
        status:
          phase: Running
          podIP: 10.0.0.1
          podIPs: [{ip: 10.0.0.1}]
          conditions: [{type: Ready, status: "True"}]
          containerStatuses: [{name: fill, image: a, imageID: a, ready: true, restartCount: 0, state: {running: {}}}]
        """);
    await()
        .atMost(Duration.ofSeconds(60))
        .until(() -> annotation("sent", "pod\\.ready"), "true"::equals);
    assertThat(annotation("sent", "pod\\.phase")).isEqualTo("Running");
  }

  @Test
  void whatCannotBeSentIsRefusedAtOnce() throws Exception {
    await()
        .atMost(Duration.ofSeconds(60))
        .until(
            () ->
                api.apply(
                        CLAIM.formatted("files", "archive") + "  volumeMode: Block\n",
                        "--dry-run=server")
                    .err(),
            text -> text.contains("An archive is unpacked into a file system"));
    applied(CLAIM.formatted("archived", "archive"));
    await()
        .atMost(Duration.ofSeconds(60))
        .until(
            () ->
                api.tryKubectl("get", "diskupload", "archived", "-o", "jsonpath={.spec.format}")
                    .out(),
            "tar"::equals);
    applied(CLAIM.formatted("bound", "kubevirt").replaceAll("(?m)^  annotations.*\n", ""));
    var late = api.tryKubectl("annotate", "pvc", "bound", "cdi.kubevirt.io/storage.upload.target=");
    assertThat(late.err()).contains("claims that have waited for it from the start");
    var waits =
        CLAIM
            .formatted("own", "kubevirt")
            .replaceAll("(?m)^  annotations.*\n", "")
            .concat("  dataSourceRef: {apiGroup: platter.dev, kind: DiskUpload, name: own}\n");
    applied(waits);
    api.kubectl("annotate", "pvc", "own", "cdi.kubevirt.io/storage.upload.target=");
  }

  @Test
  void anotherOwnerOfTheApiIsSeen() throws Exception {
    try (var admin = api.client()) {
      ForeignCdi.refuseIfThere(admin, NAMESPACE);
      assertThatExceptionOfType(PlatterException.class)
          .isThrownBy(() -> ForeignCdi.refuseIfThere(admin, "elsewhere"))
          .withMessageContaining("has CDI");
    }
  }
}
