package dev.platter.cluster.webhook;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.platter.cluster.api.Names;
import dev.platter.model.PlatterException;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Pods whose users want more than a VM. */
class HostileLauncherTest {
  private static final String POD =
      """
      apiVersion: v1
      kind: Pod
      metadata:
        name: vm
        annotations: {kubernetes.io/target-runtime: virtlet.cloud}
      spec:
        containers:
        - name: vm
          image: virtlet.cloud/cirros
      """;

  private static ObjectNode launcher(ObjectNode pod) {
    return LauncherPod.of(pod, "tenant", new MapObjects(), LauncherGoldenTest.OPTIONS);
  }

  private static void refused(ObjectNode pod, String why) {
    assertThatExceptionOfType(PlatterException.class)
        .isThrownBy(() -> launcher(pod))
        .withMessageContaining(why);
  }

  private static ObjectNode pod(String more) {
    return Yaml.one(POD + more.indent(2));
  }

  private static ObjectNode container(ObjectNode pod) {
    return (ObjectNode) pod.path("spec").path("containers").get(0);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "hostNetwork: true | hostNetwork",
        "hostPID: true | hostPID",
        "hostIPC: true | hostIPC",
        "runtimeClassName: kata | runtimeClassName",
        "initContainers: [{name: a, image: b}] | initContainers",
        "volumes: [{name: host, hostPath: {path: /}}] | a guest cannot be given such a volume",
        "volumes: [{name: e, emptyDir: {}}] | a guest cannot be given such a volume",
        "volumes: [{name: platter-socket, secret: {secretName: a}}] | is for Platter to give",
        "volumes: [{name: platter-data-0, secret: {secretName: a}}] | is for Platter to give",
        "volumes: [{name: c, persistentVolumeClaim: {claimName: none}}] | no PersistentVolumeClaim none",
      })
  void whatAVmCannotHaveIsRefused(String more, String why) {
    refused(pod(more), why);
  }

  @Test
  void aSecondContainerIsRefused() {
    var pod = pod("");
    ((com.fasterxml.jackson.databind.node.ArrayNode) pod.path("spec").path("containers"))
        .addObject()
        .put("name", "other")
        .put("image", "busybox");
    refused(pod, "exactly one container");
  }

  @Test
  void rightsOfTheContainerDoNotReachTheLauncher() {
    var pod = pod("securityContext: {runAsUser: 0, fsGroup: 0, sysctls: [{name: a, value: b}]}");
    var container = container(pod);
    container.putObject("securityContext").put("privileged", true).put("runAsUser", 0);
    container.putArray("args").add("--evil");
    container.putArray("env").addObject().put("name", "LD_PRELOAD").put("value", "/volumes/x");
    container.putObject("lifecycle").putObject("postStart");
    container.put("someFieldOfALaterKubernetes", "x");
    var made = container(launcher(pod));
    assertThat(made.fieldNames())
        .toIterable()
        .containsExactlyInAnyOrder(
            "name",
            "image",
            "imagePullPolicy",
            "command",
            "resources",
            "terminationMessagePolicy",
            "securityContext",
            "volumeMounts");
    assertThat(made.path("securityContext").toString())
        .contains("\"runAsUser\":65532", "\"drop\":[\"ALL\"]")
        .doesNotContain("privileged");
    assertThat(launcher(pod).path("spec").path("securityContext").toString())
        .contains("\"runAsNonRoot\":true")
        .doesNotContain("sysctls", "fsGroup");
  }

  @Test
  void whatThePodSaysOfItselfToBeOursIsOverwritten() {
    var pod = pod("nodeSelector: {platter.dev/node: 'false'}");
    var metadata = pod.withObjectProperty("metadata");
    metadata.withObjectProperty("annotations").put(Names.WRITTEN, "{\"volumes\":[]}");
    metadata.withObjectProperty("labels").put(Names.LAUNCHER, "false").put(Names.VM_NAME, "other");
    var made = launcher(pod);
    assertThat(made.at("/metadata/labels").toString())
        .isEqualTo("{\"platter.dev/launcher\":\"true\"}");
    assertThat(made.at("/metadata/annotations").path(Names.WRITTEN).asText())
        .isEqualTo(pod.get("spec").toString());
    assertThat(made.path("spec").path("nodeSelector").path(Names.NODE).asText()).isEqualTo("true");
  }

  @Test
  void aPodThatIsNoVmCannotHaveTheLaunchersLabelOrSocket() {
    var pod = pod("");
    pod.withObjectProperty("metadata").remove("annotations");
    refused(pod, "only a pod with the annotation kubernetes.io/target-runtime");
  }

  @Test
  void aVmOfAnotherNamespaceOrNameIsRefused() {
    var vm =
        Yaml.one(
            """
            metadata: {name: vm, namespace: victim}
            spec: {domain: {devices: {disks: [{source: {image: a}}]}}}
            """);
    var pod = LauncherGoldenTest.podOf(vm, "vm");
    refused(pod, "namespace and name are not those of the pod");
    var other = LauncherGoldenTest.podOf(vm, "vm");
    other.withObjectProperty("metadata").put("name", "other");
    assertThatExceptionOfType(PlatterException.class)
        .isThrownBy(
            () -> LauncherPod.of(other, "victim", new MapObjects(), LauncherGoldenTest.OPTIONS))
        .withMessageContaining("namespace and name");
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "[]", "{", "null", "{\"spec\": 1}"})
  void aVmAnnotationThatIsNoVmIsRefused(String text) {
    var pod = pod("");
    var annotations = pod.withObjectProperty("metadata").withObjectProperty("annotations");
    annotations.remove(Names.TARGET_RUNTIME);
    annotations.put(Names.VM, text);
    assertThatExceptionOfType(PlatterException.class).isThrownBy(() -> launcher(pod));
  }

  @Test
  void thePasswordOfAVolumeInAnotherNamespaceIsNotReachedForTheTenant() {
    var cluster = new MapObjects();
    Yaml.all(
            """
            kind: PersistentVolumeClaim
            metadata: {name: c, namespace: tenant}
            spec:
              accessModes: [ReadWriteOnce]
              volumeMode: Block
              volumeName: v
              resources: {requests: {storage: 1Gi}}
            ---
            kind: PersistentVolume
            metadata: {name: v}
            spec:
              capacity: {storage: 1Gi}
              accessModes: [ReadWriteOnce]
              volumeMode: Block
              rbd: {monitors: [192.0.2.1], image: i, secretRef: {name: ceph, namespace: storage}}
            """)
        .forEach(cluster::with);
    var pod = pod("volumes: [{name: c, persistentVolumeClaim: {claimName: c}}]");
    assertThatExceptionOfType(PlatterException.class)
        .isThrownBy(() -> LauncherPod.of(pod, "tenant", cluster, LauncherGoldenTest.OPTIONS))
        .withMessageContaining("Secret storage/ceph");
  }

  @Test
  void allThatIsWrongIsInOneMessageWithoutFileAndLine() {
    var pod = pod("");
    pod.withObjectProperty("metadata")
        .withObjectProperty("annotations")
        .put("VirtletDiskDriver", "ide")
        .put("VirtletVCPUCount", "many");
    assertThatExceptionOfType(PlatterException.class)
        .isThrownBy(() -> launcher(pod))
        .satisfies(
            e ->
                assertThat(e.getMessage())
                    .contains("VirtletDiskDriver: expected one of scsi, virtio", "; ")
                    .contains("VirtletVCPUCount")
                    .doesNotContain("pod:1"));
  }

  @Test
  void objectsThatAreNotThereYetAreNoReasonToRefuse() {
    var pod =
        pod(
            """
            volumes:
            - {name: a, secret: {secretName: later}}
            - name: kube-api-access-x
              projected:
                sources:
                - serviceAccountToken: {path: token, expirationSeconds: 3607}
                - configMap: {name: kube-root-ca.crt, items: [{key: ca.crt, path: ca.crt}]}
                - downwardAPI: {items: [{path: namespace, fieldRef: {fieldPath: metadata.namespace}}]}
            """);
    pod.withObjectProperty("metadata").remove("name");
    pod.withObjectProperty("metadata").put("generateName", "web-");
    pod.withObjectProperty("metadata")
        .withObjectProperty("annotations")
        .put("VirtletCloudInitUserDataSource", "secret/later")
        .put("VirtletCloudInitUserDataSourceKey", "k")
        .put("VirtletSSHKeySource", "configmap/keys/k");
    var env = container(pod).putArray("env");
    env.addObject()
        .put("name", "A")
        .putObject("valueFrom")
        .putObject("secretKeyRef")
        .put("name", "maybe")
        .put("key", "k")
        .put("optional", true);
    env.addObject()
        .put("name", "B")
        .putObject("valueFrom")
        .putObject("fieldRef")
        .put("fieldPath", "spec.nodeName");
    container(pod)
        .putArray("volumeMounts")
        .addObject()
        .put("name", "a")
        .put("mountPath", "/etc/a")
        .put("subPath", "key");
    var volumes = launcher(pod).path("spec").path("volumes");
    var added =
        Json.objects(launcher(pod).path("spec"), "volumes").stream()
            .filter(volume -> volume.path("name").asText().startsWith("platter-data-"))
            .map(Object::toString)
            .toList();
    assertThat(volumes).hasSize(6);
    assertThat(added)
        .isEqualTo(
            List.of(
                "{\"name\":\"platter-data-0\",\"secret\":{\"secretName\":\"later\",\"defaultMode\":256}}",
                "{\"name\":\"platter-data-1\",\"configMap\":{\"name\":\"keys\",\"defaultMode\":256}}",
                "{\"name\":\"platter-data-2\",\"secret\":{\"secretName\":\"maybe\",\"defaultMode\":256,\"optional\":true}}"));
  }
}
