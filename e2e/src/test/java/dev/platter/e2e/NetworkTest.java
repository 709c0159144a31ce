package dev.platter.e2e;

import static dev.platter.e2e.PlatterCluster.shared;
import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import com.sun.net.httpserver.HttpServer;
import dev.platter.lab.KubeNode;
import java.io.IOException;
import java.net.InetSocketAddress;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.MethodOrderer.OrderAnnotation;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestMethodOrder;

/** A web server in a guest, and its clients. */
@TestMethodOrder(OrderAnnotation.class)
class NetworkTest {
  private static final KubeNode NODE = shared().kube().node(1);

  private static HttpServer outside;

  @BeforeAll
  static void apply() throws IOException {
    outside = HttpServer.create(new InetSocketAddress(shared().kube().outside(), 0), 0);
    outside.createContext(
        "/",
        exchange -> {
          exchange.sendResponseHeaders(200, 0);
          try (var body = exchange.getResponseBody()) {
            body.write("answer-from-outside\n".getBytes(UTF_8));
          }
        });
    outside.start();
    // The client is an ordinary pod on the other node.
    shared()
        .apply(
            """
        apiVersion: v1
        kind: Service
        metadata: {name: web}
        spec:
          selector: {app: web}
          ports: [{port: 8000, targetPort: http}]
        ---
        apiVersion: v1
        kind: Pod
        metadata: {name: client}
        spec:
          nodeName: node2
          containers:
          - {name: client, image: "lab.local/busybox:1", imagePullPolicy: Never, command: [sleep, "900"]}
        ---
        apiVersion: platter.dev/v1alpha1
        kind: VirtualMachine
        metadata: {name: web, labels: {app: web}}
        spec:
          nodeSelector: {kubernetes.io/hostname: node1}
          ports: [{name: http, port: 80}]
          cloudInit:
            userData: |
              #cloud-config
              #marker: for i in $(seq 100); do ip route | grep -q default && break; usleep 100000; done
              #marker: ip -4 addr show eth0
              #marker: printf 'GET / HTTP/1.0\\r\\n\\r\\n' | nc -w 10 %s %d
              #marker: ip route | grep default | { read a b gateway c; nc -w 3 $gateway 10248 </dev/null; }
              #marker: mkdir /www; httpd -p 80 -h /www; httpd -p 81 -h /www
              #marker: sh -c 'n=0; while :; do n=$((n+1)); echo "count-$n" >/www/index.html; sleep 1; done' &
          domain:
            memory: {guest: 96Mi}
            devices:
              disks:
              - type: ContainerRegistryDisk:v1alpha
                source: {name: "%s"}
                target: {device: sda}
        """
                .formatted(
                    shared().kube().outside(), outside.getAddress().getPort(), shared().marker()));
    shared().kubectl("wait", "--for=condition=Ready", "vm/web", "pod/client", "--timeout=90s");
  }

  @AfterAll
  static void end() {
    outside.stop(0);
    shared().kubectl("delete", "vm/web", "service/web", "pod/client", "--now", "--timeout=90s");
    shared().await("left", () -> shared().leftOn(NODE), String::isEmpty);
  }

  private static String asked(String address, int port) {
    var request = "printf 'GET / HTTP/1.0\\r\\n\\r\\n' | nc -w 5 %s %d; true";
    return shared().kubectl("exec", "client", "--", "sh", "-c", request.formatted(address, port));
  }

  /** Asks until the guest, which counts the seconds of its life, answers with such a number. */
  private static int answer(String address, int port, int least) {
    var text =
        shared()
            .await(
                "no answer at " + address + ":" + port,
                () -> asked(address, port),
                answer -> answer.contains("count-") && count(answer) >= least);
    return count(text);
  }

  private static int count(String answer) {
    return Integer.parseInt(answer.replaceAll("(?s).*count-(\\d+).*", "$1"));
  }

  private static String ip() {
    return shared().kubectl("get", "pod", "web", "-o", "jsonpath={.status.podIP}");
  }

  @Test
  @Order(1)
  void theGuestIsWhereItsPodIs() {
    var log = shared().awaitLog("web", "^@@READY");
    assertThat(log).contains("inet " + ip() + "/").contains("@@OUT answer-from-outside");
    // What listens on the node's loopback, such as kubelet's health, is nothing to a guest.
    assertThat(log).containsPattern("@@RC 1 ip route [|] grep default [|] \\{ read");

    answer(ip(), 80, 1);
    answer(shared().kubectl("get", "service", "web", "-o", "jsonpath={.spec.clusterIP}"), 8000, 1);
    assertThat(asked(ip(), 81)).doesNotContain("count-");
  }

  @Test
  @Order(2)
  void itsNetworkIsThePodsChargeAndComesBack() {
    var qemu = shared().qemu(NODE, "default", "web");
    var passt = shared().processes(NODE, "default", "web", "passt");
    assertThat(passt).as("is the pod's charge").matches("\\d+");

    NODE.exec("kill", "-9", passt);
    answer(ip(), 80, 1);
    assertThat(shared().processes(NODE, "default", "web", "passt"))
        .matches("\\d+")
        .isNotEqualTo(passt);
    assertThat(shared().qemu(NODE, "default", "web")).isEqualTo(qemu);
  }
}
