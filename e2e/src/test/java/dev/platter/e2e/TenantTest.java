package dev.platter.e2e;

import static org.assertj.core.api.Assertions.assertThat;

import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetSocketAddress;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/**
 * Two tenants, alice and bob, each with a namespace, on the same node: what one of them has is
 * nothing to the other. The cluster holds their pods to Pod Security profiles.
 */
class TenantTest {
  private static final PlatterCluster CLUSTER = PlatterCluster.shared();

  @BeforeAll
  static void makeTenants() {
    CLUSTER.apply(
        """
        apiVersion: v1
        kind: Namespace
        metadata: {name: alice, labels: {pod-security.kubernetes.io/enforce: restricted}}
        ---
        apiVersion: v1
        kind: Namespace
        metadata: {name: bob, labels: {pod-security.kubernetes.io/enforce: baseline}}
        ---
        apiVersion: v1
        kind: ConfigMap
        metadata: {name: settings, namespace: alice}
        data: {colour: green-41}
        ---
        apiVersion: v1
        kind: Secret
        metadata: {name: token, namespace: alice}
        stringData: {value: tulip-97}
        ---
        apiVersion: v1
        kind: PersistentVolumeClaim
        metadata: {name: data, namespace: alice}
        spec:
          storageClassName: by-hand
          accessModes: [ReadWriteOnce]
          resources: {requests: {storage: 64Mi}}
        """);
    login("alice", "alice", PlatterCluster.ALICE);
  }

  @AfterAll
  static void nothingIsLeft() {
    CLUSTER.kubectl("delete", "namespace", "alice", "bob", "--timeout=120s");
    for (var node : CLUSTER.kube().nodes()) {
      CLUSTER.await("left on " + node.name(), () -> CLUSTER.leftOn(node), String::isEmpty);
    }
  }

  private static void login(String namespace, String user, String password) {
    CLUSTER.kubectl(
        "-n",
        namespace,
        "create",
        "secret",
        "docker-registry",
        "login",
        "--docker-server=" + CLUSTER.locked().split("/")[0],
        "--docker-username=" + user,
        "--docker-password=" + password);
  }

  private static String vm(String namespace, String name, String image, String disks) {
    return """
    apiVersion: platter.dev/v1alpha1
    kind: VirtualMachine
    metadata: {name: %s, namespace: %s}
    spec:
      nodeSelector: {kubernetes.io/hostname: node1}
      imagePullSecrets: [{name: login}]
      domain:
        memory: {guest: 96Mi}
        devices:
          disks:
          - name: root
            source: {image: "%s"}
    %s
    """
        .formatted(name, namespace, image, disks.indent(6).stripTrailing());
  }

  private static String pod(String name, String volume) {
    return """
    apiVersion: v1
    kind: Pod
    metadata:
      name: %s
      namespace: bob
      annotations: {kubernetes.io/target-runtime: virtlet.cloud}
    spec:
      nodeSelector: {kubernetes.io/hostname: node1}
      containers:
      - name: vm
        image: virtlet.cloud/%s
        resources: {limits: {memory: 96Mi}}
        volumeMounts: [{name: theirs, mountPath: /theirs}]
      volumes: [{name: theirs, %s}]
    """
        .formatted(name, CLUSTER.marker(), volume);
  }

  private static String conditions(String namespace, String kind, String name) {
    return CLUSTER.kubectl(
        "-n", namespace, "get", kind, name, "-o", "jsonpath={.status.conditions}");
  }

  @Test
  void anImageThatOneLoggedInForIsNotOnTheNodeForTheOther() {
    CLUSTER.apply(vm("alice", "hers", CLUSTER.locked(), ""));
    assertThat(CLUSTER.awaitLog("alice", "hers", "^@@READY")).contains("serial=root");

    // Alice's login is alice's; there is none of that name here.
    CLUSTER.apply(vm("bob", "his", CLUSTER.locked(), ""));
    var refused =
        CLUSTER.await(
            "not refused",
            () -> conditions("bob", "vm", "his"),
            text -> text.contains("imagePullSecrets"));
    assertThat(refused).contains("refused").doesNotContain(PlatterCluster.ALICE);

    login("bob", "bob", PlatterCluster.BOB);
    CLUSTER.kubectl("-n", "bob", "delete", "pod", "his", "--timeout=60s");
    CLUSTER.awaitLog("bob", "his", "^@@READY");

    // A daemon that was started anew has been told no login.
    CLUSTER.killDaemon(CLUSTER.kube().node(1));
    CLUSTER.awaitPlatter();
    CLUSTER.kubectl("-n", "alice", "delete", "pod", "hers", "--timeout=60s");
    CLUSTER.awaitLog("alice", "hers", "^@@READY");
    CLUSTER.kubectl("-n", "alice", "delete", "vm", "hers", "--timeout=60s");
    CLUSTER.kubectl("-n", "bob", "delete", "vm", "his", "--timeout=60s");
  }

  @Test
  void aContainerImageRunsAsAVmAndEndsAsItsProgramDoes() {
    var image = CLUSTER.pushProgram("program");
    var source =
        "{containerImage: {image: '%s', args: ['echo @$(id -u) $WHO; exit 7'], env: {WHO: me}}}";
    for (var tenant : new String[] {"alice", "bob"}) {
      CLUSTER.apply(
          vm(tenant, "program", CLUSTER.marker(), "")
              .replace("{image: \"" + CLUSTER.marker() + "\"}", source.formatted(image))
              .replace("spec:\n", "spec:\n  restartPolicy: Never\n"));
    }
    CLUSTER.apply(
        """
        apiVersion: v1
        kind: Pod
        metadata:
          name: pod
          namespace: alice
          annotations: {kubernetes.io/target-runtime: virtlet.cloud, platter.dev/container-image: "true"}
        spec:
          restartPolicy: Never
          nodeSelector: {kubernetes.io/hostname: node1}
          imagePullSecrets: [{name: login}]
          containers:
          - name: vm
            image: %s
            command: [sh, -c, 'echo @$PWD $(cat /settings/colour) $TOKEN']
            workingDir: /etc
            env: [{name: TOKEN, valueFrom: {secretKeyRef: {name: token, key: value}}}]
            resources: {limits: {memory: 96Mi}}
            volumeMounts: [{name: settings, mountPath: /settings}]
          volumes: [{name: settings, configMap: {name: settings}}]
        """
            .formatted(image));
    CLUSTER.await(
        "bob runs what alice logged in for",
        () -> conditions("bob", "vm", "program"),
        text -> text.contains("imagePullSecrets"));
    CLUSTER.await(
        "no exit status",
        () -> status("vm", "program", "{.status.phase} {.status.exitCode}"),
        "Failed 7"::equals);
    assertThat(conditions("alice", "vm", "program")).contains("Exited");
    assertThat(CLUSTER.kubectl("-n", "alice", "logs", "program")).isEqualTo("@1234 me\n");
    CLUSTER.await("not ended", () -> status("pod", "pod", "{.status.phase}"), "Succeeded"::equals);
    assertThat(CLUSTER.kubectl("-n", "alice", "logs", "pod"))
        .isEqualTo("@/etc green-41 tulip-97\n");
    CLUSTER.kubectl("-n", "alice", "delete", "vm/program", "pod/pod", "--timeout=60s");
    CLUSTER.kubectl("-n", "bob", "delete", "vm", "program", "--timeout=60s");
  }

  private static String status(String kind, String name, String path) {
    return CLUSTER.kubectl("-n", "alice", "get", kind, name, "-o", "jsonpath=" + path);
  }

  @Test
  void namesMeanWhatTheNamespaceOfThePodHas() {
    var kube = CLUSTER.kube();
    CLUSTER.apply(pod("config", "configMap: {name: settings}"));
    CLUSTER.apply(pod("secret", "secret: {secretName: token}"));
    for (var missing : new String[] {"configmap \"settings\"", "secret \"token\""}) {
      CLUSTER.await(
          "nobody misses " + missing,
          () -> CLUSTER.kubectl("-n", "bob", "get", "events"),
          text -> text.contains(missing + " not found"));
    }
    assertRefused(
        pod("claim", "persistentVolumeClaim: {claimName: data}"),
        "no PersistentVolumeClaim data in namespace bob");
    // A name has no way to say whose it is meant to be.
    CLUSTER.apply(pod("slash", "configMap: {name: alice/settings}"));
    CLUSTER.await(
        "nobody minds the slash",
        () ->
            CLUSTER.kubectl(
                "-n", "bob", "get", "events", "--field-selector", "involvedObject.name=slash"),
        text -> text.contains("MountVolume.SetUp failed"));
    CLUSTER.apply(
        vm(
            "bob",
            "disk",
            CLUSTER.marker(),
            "- {type: PersistentVolumeClaim, source: {name: data}, target: {device: sdb}}"));
    CLUSTER.await(
        "it has a claim of alice's",
        () -> conditions("bob", "vm", "disk"),
        text -> text.contains("no PersistentVolumeClaim data in namespace bob"));
    CLUSTER.kubectl("-n", "bob", "delete", "vm", "disk", "--timeout=60s");

    // Of the same name, in the namespace of the pod: now they start, each with its own.
    CLUSTER.apply(
        """
        apiVersion: v1
        kind: ConfigMap
        metadata: {name: settings, namespace: bob}
        data: {colour: blue-12}
        ---
        apiVersion: v1
        kind: Secret
        metadata: {name: token, namespace: bob}
        stringData: {value: rose-33}
        """);
    assertThat(CLUSTER.awaitLog("bob", "config", "^@@READY"))
        .contains(base64("blue-12"))
        .doesNotContain(base64("green-41"));
    assertThat(CLUSTER.awaitLog("bob", "secret", "^@@READY"))
        .contains(base64("rose-33"))
        .doesNotContain(base64("tulip-97"));
    kube.kubectl("-n", "bob", "delete", "pods", "--all", "--timeout=60s");
  }

  private static String base64(String text) {
    return java.util.Base64.getEncoder().encodeToString(text.getBytes());
  }

  private static void assertRefused(String yaml, String why) {
    try {
      CLUSTER.apply(yaml);
    } catch (AssertionError e) {
      assertThat(e).hasMessageContaining(why).hasMessageNotContaining("failed to call webhook");
      return;
    }
    throw new AssertionError("accepted:\n" + yaml);
  }

  @Test
  void aWebServerLeadsNobodyToTheNode() throws IOException {
    var address = new InetSocketAddress(CLUSTER.kube().outside(), 0);
    var server = HttpServer.create(address, 0);
    server.createContext(
        "/",
        exchange -> {
          exchange.getResponseHeaders().set("Location", "http://127.0.0.1:8687/metrics");
          exchange.sendResponseHeaders(302, -1);
          exchange.close();
        });
    server.start();
    try {
      var url =
          "http://%s:%d/disk".formatted(address.getHostString(), server.getAddress().getPort());
      CLUSTER.apply(
          vm("bob", "web", CLUSTER.marker(), "- {name: data, source: {http: \"" + url + "\"}}"));
      CLUSTER.await(
          "not refused",
          () -> conditions("bob", "vm", "web"),
          text -> text.contains("leads elsewhere (302)"));
      CLUSTER.kubectl("-n", "bob", "delete", "vm", "web", "--timeout=60s");
    } finally {
      server.stop(0);
    }
  }

  @Test
  void theSocketOfALauncherIsForItsOwnVm() {
    CLUSTER.apply(vm("alice", "one", CLUSTER.marker(), ""));
    CLUSTER.apply(vm("bob", "two", CLUSTER.marker(), ""));
    CLUSTER.awaitLog("alice", "one", "^@@READY");
    CLUSTER.awaitLog("bob", "two", "^@@READY");
    var hers = qemu("alice", "one");
    var his = qemu("bob", "two");

    assertThat(inside("ls -A /platter /volumes; id -u; ls -d /var/lib/platter /run/platter"))
        .contains("vm.sock")
        .contains("65532")
        .doesNotContain("\n/var/lib/platter", "\n/run/platter");
    // Another launcher in his pod ends what he has, and starts it anew.
    inside("timeout 20 /opt/platter/bin/launch >/dev/null 2>&1 &");
    CLUSTER.await(
        "his VM is the one it was",
        () -> CLUSTER.processes(CLUSTER.kube().node(1), "bob", "two", "qemu-system"),
        pid -> !pid.equals(his));
    assertThat(qemu("alice", "one")).isEqualTo(hers);
    assertThat(conditions("alice", "pod", "one")).contains("The guest runs.");
    CLUSTER.kubectl("-n", "alice", "delete", "vm", "one", "--timeout=60s");
    CLUSTER.kubectl("-n", "bob", "delete", "vm", "two", "--timeout=60s");
  }

  private static String inside(String script) {
    return CLUSTER.kube().tryKubectl("-n", "bob", "exec", "two", "--", "sh", "-c", script).out();
  }

  private static String qemu(String namespace, String name) {
    return CLUSTER.qemu(CLUSTER.kube().node(1), namespace, name);
  }
}
