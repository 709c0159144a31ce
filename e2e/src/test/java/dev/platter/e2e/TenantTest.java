package dev.platter.e2e;

import static dev.platter.e2e.PlatterCluster.shared;
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

  @BeforeAll
  static void makeTenants() {
    shared()
        .apply(
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
    shared().kubectl("delete", "namespace", "alice", "bob", "--timeout=120s");
    for (var node : shared().kube().nodes()) {
      shared().await("left on " + node.name(), () -> shared().leftOn(node), String::isEmpty);
    }
  }

  private static void login(String namespace, String user, String password) {
    shared()
        .kubectl(
            "-n",
            namespace,
            "create",
            "secret",
            "docker-registry",
            "login",
            "--docker-server=" + shared().locked().split("/")[0],
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
        .formatted(name, shared().marker(), volume);
  }

  private static String conditions(String namespace, String kind, String name) {
    return shared()
        .kubectl("-n", namespace, "get", kind, name, "-o", "jsonpath={.status.conditions}");
  }

  @Test
  void anImageThatOneLoggedInForIsNotOnTheNodeForTheOther() {
    shared().apply(vm("alice", "hers", shared().locked(), ""));
    assertThat(shared().awaitLog("alice", "hers", "^@@READY")).contains("serial=root");

    // Alice's login is alice's; there is none of that name here.
    shared().apply(vm("bob", "his", shared().locked(), ""));
    var refused =
        shared()
            .await(
                "not refused",
                () -> conditions("bob", "vm", "his"),
                text -> text.contains("imagePullSecrets"));
    assertThat(refused).contains("refused").doesNotContain(PlatterCluster.ALICE);

    login("bob", "bob", PlatterCluster.BOB);
    shared().kubectl("-n", "bob", "delete", "pod", "his", "--timeout=60s");
    shared().awaitLog("bob", "his", "^@@READY");

    // A daemon that was started anew has been told no login.
    shared().killDaemon(shared().kube().node(1));
    shared().awaitPlatter();
    shared().kubectl("-n", "alice", "delete", "pod", "hers", "--timeout=60s");
    shared().awaitLog("alice", "hers", "^@@READY");
    shared().kubectl("-n", "alice", "delete", "vm", "hers", "--timeout=60s");
    shared().kubectl("-n", "bob", "delete", "vm", "his", "--timeout=60s");
  }

  @Test
  void aContainerImageRunsAsAVmAndEndsAsItsProgramDoes() {
    shared().kubectl("-n", "bob", "delete", "secret", "login", "--ignore-not-found");
    var image = shared().pushProgram("program");
    var source =
        "{containerImage: {image: '%s', args: ['echo @$(id -u) $WHO; exit 7'], env: {WHO: me}}}";
    for (var tenant : new String[] {"alice", "bob"}) {
      shared()
          .apply(
              vm(tenant, "program", shared().marker(), "")
                  .replace("{image: \"" + shared().marker() + "\"}", source.formatted(image))
                  .replace("spec:\n", "spec:\n  restartPolicy: Never\n"));
    }
    shared()
        .apply(
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
    shared()
        .await(
            "bob runs what alice logged in for",
            () -> conditions("bob", "vm", "program"),
            text -> text.contains("imagePullSecrets"));
    shared()
        .await(
            "no exit status",
            () -> status("vm", "program", "{.status.phase} {.status.exitCode}"),
            "Failed 7"::equals);
    assertThat(conditions("alice", "vm", "program")).contains("Exited");
    assertThat(shared().kubectl("-n", "alice", "logs", "program")).isEqualTo("@1234 me\n");
    shared().await("not ended", () -> status("pod", "pod", "{.status.phase}"), "Succeeded"::equals);
    assertThat(shared().kubectl("-n", "alice", "logs", "pod"))
        .isEqualTo("@/etc green-41 tulip-97\n");
    shared().kubectl("-n", "alice", "delete", "vm/program", "pod/pod", "--timeout=60s");
    shared().kubectl("-n", "bob", "delete", "vm", "program", "--timeout=60s");
  }

  private static String status(String kind, String name, String path) {
    return shared().kubectl("-n", "alice", "get", kind, name, "-o", "jsonpath=" + path);
  }

  @Test
  void namesMeanWhatTheNamespaceOfThePodHas() {
    var kube = shared().kube();
    shared().apply(pod("config", "configMap: {name: settings}"));
    shared().apply(pod("secret", "secret: {secretName: token}"));
    for (var missing : new String[] {"configmap \"settings\"", "secret \"token\""}) {
      shared()
          .await(
              "nobody misses " + missing,
              () -> shared().kubectl("-n", "bob", "get", "events"),
              text -> text.contains(missing + " not found"));
    }
    assertRefused(
        pod("claim", "persistentVolumeClaim: {claimName: data}"),
        "no PersistentVolumeClaim data in namespace bob");
    // A name has no way to say whose it is meant to be.
    shared().apply(pod("slash", "configMap: {name: alice/settings}"));
    shared()
        .await(
            "nobody minds the slash",
            () ->
                shared()
                    .kubectl(
                        "-n",
                        "bob",
                        "get",
                        "events",
                        "--field-selector",
                        "involvedObject.name=slash"),
            text -> text.contains("MountVolume.SetUp failed"));
    shared()
        .apply(
            vm(
                "bob",
                "disk",
                shared().marker(),
                "- {type: PersistentVolumeClaim, source: {name: data}, target: {device: sdb}}"));
    shared()
        .await(
            "it has a claim of alice's",
            () -> conditions("bob", "vm", "disk"),
            text -> text.contains("no PersistentVolumeClaim data in namespace bob"));
    shared().kubectl("-n", "bob", "delete", "vm", "disk", "--timeout=60s");

    // Of the same name, in the namespace of the pod: now they start, each with its own.
    shared()
        .apply(
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
    assertThat(shared().awaitLog("bob", "config", "^@@READY"))
        .contains(base64("blue-12"))
        .doesNotContain(base64("green-41"));
    assertThat(shared().awaitLog("bob", "secret", "^@@READY"))
        .contains(base64("rose-33"))
        .doesNotContain(base64("tulip-97"));
    kube.kubectl("-n", "bob", "delete", "pods", "--all", "--timeout=60s");
  }

  private static String base64(String text) {
    return java.util.Base64.getEncoder().encodeToString(text.getBytes());
  }

  private static void assertRefused(String yaml, String why) {
    try {
      shared().apply(yaml);
    } catch (AssertionError e) {
      assertThat(e).hasMessageContaining(why).hasMessageNotContaining("failed to call webhook");
      return;
    }
    throw new AssertionError("accepted:\n" + yaml);
  }

  @Test
  void aWebServerLeadsNobodyToTheNode() throws IOException {
    var address = new InetSocketAddress(shared().kube().outside(), 0);
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
      shared()
          .apply(
              vm(
                  "bob",
                  "web",
                  shared().marker(),
                  "- {name: data, source: {http: \"" + url + "\"}}"));
      shared()
          .await(
              "not refused",
              () -> conditions("bob", "vm", "web"),
              text -> text.contains("leads elsewhere (302)"));
      shared().kubectl("-n", "bob", "delete", "vm", "web", "--timeout=60s");
    } finally {
      server.stop(0);
    }
  }

  @Test
  void theSocketOfALauncherIsForItsOwnVm() {
    shared().apply(vm("alice", "one", shared().marker(), ""));
    shared().apply(vm("bob", "two", shared().marker(), ""));
    shared().awaitLog("alice", "one", "^@@READY");
    shared().awaitLog("bob", "two", "^@@READY");
    var hers = qemu("alice", "one");
    var his = qemu("bob", "two");

    assertThat(inside("ls -A /platter /volumes; id -u; ls -d /var/lib/platter /run/platter"))
        .contains("vm.sock")
        .contains("65532")
        .doesNotContain("\n/var/lib/platter", "\n/run/platter");
    // Another launcher in his pod ends what he has, and starts it anew.
    inside("timeout 20 /opt/platter/bin/launch >/dev/null 2>&1 &");
    shared()
        .await(
            "his VM is the one it was",
            () -> shared().processes(shared().kube().node(1), "bob", "two", "qemu-system"),
            pid -> !pid.equals(his));
    assertThat(qemu("alice", "one")).isEqualTo(hers);
    assertThat(conditions("alice", "pod", "one")).contains("The guest runs.");
    shared().kubectl("-n", "alice", "delete", "vm", "one", "--timeout=60s");
    shared().kubectl("-n", "bob", "delete", "vm", "two", "--timeout=60s");
  }

  private static String inside(String script) {
    return shared().kube().tryKubectl("-n", "bob", "exec", "two", "--", "sh", "-c", script).out();
  }

  private static String qemu(String namespace, String name) {
    return shared().qemu(shared().kube().node(1), namespace, name);
  }
}
