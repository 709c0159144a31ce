package dev.platter.cluster.install;

import com.fasterxml.jackson.databind.JsonNode;
import dev.platter.lab.Shell;
import io.fabric8.kubernetes.client.Config;
import io.fabric8.kubernetes.client.KubernetesClient;
import io.fabric8.kubernetes.client.KubernetesClientBuilder;
import io.fabric8.kubernetes.client.utils.Serialization;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Assumptions;

/**
 * A real API server with its etcd, at loopback addresses and without nodes: what it takes to know
 * what it thinks of our objects. It is the one that the lab built; without it these tests are
 * skipped.
 */
public final class ApiServer implements AutoCloseable {
  private static final String TOKEN = "admin";

  private final Path work;
  private final Path programs;
  private final List<Process> processes = new ArrayList<>();
  private final int port = freePort();

  private ApiServer(Path work, Path programs) {
    this.work = work;
    this.programs = programs;
  }

  public static ApiServer start(Path work) throws IOException, InterruptedException {
    var cache = Path.of(System.getProperty("user.home"), ".cache/platter/kube");
    Assumptions.assumeTrue(Files.isDirectory(cache), "the lab has not built Kubernetes yet");
    Path programs;
    try (var built = Files.list(cache)) {
      programs =
          built
              .filter(directory -> Files.exists(directory.resolve("kube-apiserver")))
              .findFirst()
              .orElse(null);
    }
    Assumptions.assumeTrue(programs != null, "the lab has not built Kubernetes yet");
    var server = new ApiServer(work, programs);
    try {
      server.start();
    } catch (AssertionError e) {
      server.close();
      throw e;
    }
    return server;
  }

  private static int freePort() {
    try (var socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      return socket.getLocalPort();
    } catch (IOException e) {
      throw new AssertionError(e);
    }
  }

  private void start() throws IOException, InterruptedException {
    Shell.run("openssl", "genrsa", "-out", work.resolve("sa.key"), "2048");
    Shell.run(
        "openssl", "rsa", "-in", work.resolve("sa.key"), "-pubout", "-out", work.resolve("sa.pub"));
    Files.writeString(work.resolve("tokens.csv"), TOKEN + ",admin,1,\"system:masters\"\n");
    Files.writeString(
        work.resolve("audit.yaml"),
        """
        apiVersion: audit.k8s.io/v1
        kind: Policy
        omitStages: [RequestReceived, ResponseStarted]
        rules: [{level: Metadata}]
        """);
    // An administrator by certificate, who is also its authority; the key is as openssl writes it.
    Shell.run(
        "openssl", "ecparam", "-genkey", "-name", "prime256v1", "-out", work.resolve("admin.key"));
    Shell.run(
        "openssl",
        "req",
        "-x509",
        "-new",
        "-key",
        work.resolve("admin.key"),
        "-subj",
        "/O=system:masters/CN=ec-admin",
        "-out",
        work.resolve("admin.crt"));
    frontProxy();
    var client = "http://127.0.0.1:" + freePort();
    var peer = "http://127.0.0.1:" + freePort();
    run(
        "etcd",
        "--data-dir=" + work.resolve("etcd"),
        "--unsafe-no-fsync",
        "--listen-client-urls=" + client,
        "--advertise-client-urls=" + client,
        "--listen-peer-urls=" + peer,
        "--initial-advertise-peer-urls=" + peer,
        "--initial-cluster=default=" + peer);
    run(
        programs.resolve("kube-apiserver").toString(),
        "--etcd-servers=" + client,
        "--secure-port=" + port,
        "--bind-address=127.0.0.1",
        "--service-cluster-ip-range=10.98.0.0/16",
        "--cert-dir=" + work.resolve("certs"),
        "--service-account-issuer=https://kubernetes.default.svc",
        "--service-account-key-file=" + work.resolve("sa.pub"),
        "--service-account-signing-key-file=" + work.resolve("sa.key"),
        "--token-auth-file=" + work.resolve("tokens.csv"),
        "--client-ca-file=" + work.resolve("admin.crt"),
        "--authorization-mode=RBAC",
        "--allow-privileged=true",
        "--requestheader-client-ca-file=" + work.resolve("front-ca.crt"),
        "--requestheader-allowed-names=front-proxy-client",
        "--requestheader-username-headers=X-Remote-User",
        "--requestheader-group-headers=X-Remote-Group",
        "--requestheader-extra-headers-prefix=X-Remote-Extra-",
        "--proxy-client-cert-file=" + work.resolve("front.crt"),
        "--proxy-client-key-file=" + work.resolve("front.key"),
        "--audit-policy-file=" + work.resolve("audit.yaml"),
        "--audit-log-path=" + work.resolve("audit.log"),
        // Nobody makes the accounts that it would ask for.
        "--disable-admission-plugins=ServiceAccount");
    Files.writeString(
        kubeconfig(),
        """
        apiVersion: v1
        kind: Config
        clusters: [{name: a, cluster: {server: "https://127.0.0.1:%d", insecure-skip-tls-verify: true}}]
        users: [{name: a, user: {token: %s}}, {name: b, user: {client-certificate: "%s", client-key: "%s"}}]
        contexts: [{name: a, context: {cluster: a, user: a}}, {name: by-certificate, context: {cluster: a, user: b}}]
        current-context: a
        """
            .formatted(port, TOKEN, work.resolve("admin.crt"), work.resolve("admin.key")));
    for (var i = 0; i < 300; i++) {
      if (tryKubectl("get", "--raw", "/readyz").out().equals("ok")
          && tryKubectl("get", "namespace", "default").status() == 0) {
        return;
      }
      Thread.sleep(200);
    }
    throw new AssertionError("the API server is not ready: " + work);
  }

  /** By what it is known to those who it passes requests on to. */
  private void frontProxy() {
    Shell.shell()
        .in(work)
        .check(
            "sh",
            "-euc",
            """
            new='-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2'
            openssl req -x509 $new -subj /CN=front-proxy-ca -keyout front-ca.key -out front-ca.crt
            openssl req -x509 $new -CA front-ca.crt -CAkey front-ca.key -subj /CN=front-proxy-client \\
              -addext basicConstraints=critical,CA:FALSE -addext extendedKeyUsage=clientAuth -keyout front.key -out front.crt
            """);
  }

  private void run(String... command) throws IOException {
    var name = Path.of(command[0]).getFileName();
    var builder =
        new ProcessBuilder(command)
            .redirectErrorStream(true)
            .redirectOutput(work.resolve(name + ".log").toFile());
    builder.environment().keySet().removeIf(variable -> variable.toLowerCase().endsWith("_proxy"));
    processes.add(builder.start());
  }

  private Path kubeconfig() {
    return work.resolve("kubeconfig");
  }

  /** As kubectl would use it. */
  Config config(String context) {
    return Config.fromKubeconfig(context, kubeconfig().toFile());
  }

  public KubernetesClient client() throws IOException {
    return new KubernetesClientBuilder()
        .withConfig(Config.fromKubeconfig(Files.readString(kubeconfig())))
        .build();
  }

  public String kubectl(Object... words) {
    var result = tryKubectl(words);
    if (result.status() != 0) {
      throw new AssertionError(result.output());
    }
    return result.out();
  }

  public Shell.Result tryKubectl(Object... words) {
    var command = new ArrayList<Object>(List.of(programs.resolve("kubectl"), "--kubeconfig"));
    command.add(kubeconfig());
    command.addAll(Arrays.asList(words));
    return Shell.shell()
        .with("NO_PROXY", "*")
        .with("HOME", work.toString())
        .execute(command.toArray());
  }

  /** Applies a manifest. */
  public Shell.Result apply(String yaml, Object... more) throws IOException {
    var file = Files.writeString(Files.createTempFile(work, "object", ".yaml"), yaml);
    var words = new ArrayList<Object>(List.of("apply", "-f", file));
    words.addAll(Arrays.asList(more));
    return tryKubectl(words.toArray());
  }

  /** Every request that it has answered, in its own words; a watch is there when it has ended. */
  public List<JsonNode> requests() throws IOException {
    try (var lines = Files.lines(work.resolve("audit.log"))) {
      return lines.map(line -> Serialization.unmarshal(line, JsonNode.class)).toList();
    }
  }

  @Override
  public void close() {
    for (var process : processes.reversed()) {
      process.destroyForcibly();
      try {
        process.waitFor(10, TimeUnit.SECONDS);
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
      }
    }
  }
}
