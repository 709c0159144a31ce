package dev.platter.plan;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowable;

import com.fasterxml.jackson.databind.ObjectMapper;
import dev.platter.dialect.Manifests;
import dev.platter.model.PlatterException;
import java.io.IOException;
import java.io.StringReader;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Base64;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Stream;
import javax.xml.parsers.DocumentBuilderFactory;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.w3c.dom.Document;
import org.xml.sax.InputSource;

/**
 * Whatever a pod's texts are, they stay texts: the pod is refused, or domain, seed and script have
 * the shape that they have for a harmless pod.
 */
class HostilePodTest {
  private static final ObjectMapper JSON = new ObjectMapper();

  /** Every text of the pod, with a harmless value. */
  private static final Map<String, String> FIELDS = fields();

  private static final List<String> ATTACKS =
      List.of(
          "'\"><disk type='file'/><!--",
          "]]></name><name>x",
          "a'; touch /tmp/platter-was-here; '",
          "$(touch /tmp/platter-was-here)`touch /tmp/platter-was-here`",
          "a\nb: c\n- d",
          "a\n#cloud-config\nruncmd: [x]",
          "../../../../etc/passwd",
          "/a/../../b",
          "a,hostfwd=tcp::1-:1",
          "a b\tc",
          "\u0000",
          "\u0085\u2028",
          "{{ x }} ## template: jinja",
          "x".repeat(1 << 20));

  private static Map<String, String> fields() {
    var out = new LinkedHashMap<String, String>();
    out.put("name", "vm");
    out.put("namespace", "default");
    out.put("label", "web");
    out.put("uid", "2a7b3c9e-0000-4000-8000-000000000000");
    out.put("container", "vm");
    out.put("image", "virtlet.cloud/debian");
    out.put("volume", "data");
    out.put("capacity", "1GiB");
    out.put("path", "/dev/loop7");
    out.put("monitor", "192.0.2.1:6789");
    out.put("user", "libvirt");
    out.put("secret", "AQDTwuVY8rA8HxAAthwOKaQPr0hRc7kCmR/9Qg==");
    out.put("rbd", "disk1");
    out.put("pool", "rbd");
    out.put("part", "1");
    out.put("diskMount", "/data");
    out.put("fileMount", "/etc/config");
    out.put("device", "/dev/claim");
    out.put("claim", "claimed");
    out.put("key", "level");
    out.put("value", "very");
    out.put("item", "a/level");
    out.put("env", "LEVEL");
    out.put("envValue", "high");
    out.put("ssh", "ssh-ed25519 AAAA me");
    out.put("meta", "host");
    out.put("userData", "Etc/UTC");
    out.put("uuid", "53008994-44c0-4017-ad44-9c49758083da");
    out.put("cpuModel", "qemu64");
    out.put("driver", "scsi");
    out.put("rootSize", "4Gi");
    out.put("annotation", "anything");
    out.put("node", "node1");
    return out;
  }

  private static String pod(Map<String, String> values) throws IOException {
    var text =
        """
        kind: PersistentVolume
        metadata: {name: pv}
        spec:
          capacity: {storage: 1Gi}
          accessModes: [ReadWriteOnce]
          volumeMode: Block
          local: {path: /dev/vdb}
        ---
        kind: PersistentVolumeClaim
        metadata: {name: claimed, namespace: %namespace%}
        spec:
          accessModes: [ReadWriteOnce]
          volumeMode: Block
          resources: {requests: {storage: 1Gi}}
        ---
        kind: ConfigMap
        metadata: {name: config, namespace: %namespace%}
        data:
          %key%: %value%
        ---
        kind: Pod
        metadata:
          name: %name%
          namespace: %namespace%
          uid: %uid%
          labels: {app: %label%}
          annotations:
            kubernetes.io/target-runtime: virtlet.cloud
            example.com/other: %annotation%
            VirtletDiskDriver: %driver%
            VirtletRootVolumeSize: %rootSize%
            VirtletSystemUUID: %uuid%
            VirtletSSHKeys: %ssh%
            VirtletCloudInitMetaData: %metaYaml%
            VirtletCloudInitUserData: %userDataYaml%
            VirtletLibvirtCPUSetting: %cpuYaml%
        spec:
          nodeName: %node%
          containers:
          - name: %container%
            image: %image%
            env: [{name: %env%, value: %envValue%}]
            volumeDevices: [{name: claim, devicePath: %device%}]
            volumeMounts:
            - {name: %volume%, mountPath: %diskMount%}
            - {name: config, mountPath: %fileMount%}
            - {name: about, mountPath: /about}
          volumes:
          - name: %volume%
            flexVolume:
              driver: virtlet/flexvolume_driver
              options: {type: qcow2, capacity: %capacity%, part: %part%}
          - name: raw
            flexVolume: {driver: virtlet/flexvolume_driver, options: {type: raw, path: %path%}}
          - name: ceph
            flexVolume:
              driver: virtlet/flexvolume_driver
              options: {type: ceph, monitor: %monitor%, user: %user%, secret: %secret%, volume: %rbd%, pool: %pool%}
          - {name: claim, persistentVolumeClaim: {claimName: %claim%}}
          - name: config
            configMap: {name: config, items: [{key: %key%, path: %item%}]}
          - name: about
            downwardAPI:
              items:
              - {path: labels, fieldRef: {fieldPath: metadata.labels}}
              - {path: node, fieldRef: {fieldPath: spec.nodeName}}
        """;
    for (var field : values.entrySet()) {
      text = text.replace("%" + field.getKey() + "%", quoted(field.getValue()));
    }
    var meta = JSON.writeValueAsString(Map.of("local-hostname", values.get("meta")));
    var user = JSON.writeValueAsString(Map.of("timezone", values.get("userData")));
    var cpu = JSON.writeValueAsString(Map.of("mode", "custom", "model", values.get("cpuModel")));
    return text.replace("%metaYaml%", quoted(meta))
        .replace("%userDataYaml%", quoted(user))
        .replace("%cpuYaml%", quoted(cpu));
  }

  /** JSON strings are YAML. */
  private static String quoted(String text) throws IOException {
    return JSON.writeValueAsString(text);
  }

  private static Planned planned(String text) {
    var objects = Manifests.objects("pod.yaml", text);
    var vm = Claims.resolve(objects.vms().getFirst(), objects.volumes(), objects.secrets());
    return Planner.plan(vm, GoldenTest.facts(vm));
  }

  static Stream<String> everyField() {
    return FIELDS.keySet().stream();
  }

  @Test
  void theHarmlessPodIsPlanned() throws Exception {
    var planned = planned(pod(FIELDS));
    assertThat(planned.plan().disks()).hasSize(6);
    assertThat(script(planned)).contains("'/data'");
  }

  @ParameterizedTest
  @MethodSource("everyField")
  void aTextIsRefusedOrCarriedThroughLiterally(String field) throws Exception {
    var harmless = planned(pod(FIELDS));
    for (var attack : ATTACKS) {
      var values = new LinkedHashMap<>(FIELDS);
      values.put(field, attack);
      var text = pod(values);
      var thrown = catchThrowable(() -> planned(text));
      if (thrown != null) {
        assertThat(thrown).isInstanceOf(PlatterException.class);
        assertThat(String.valueOf(((PlatterException) thrown).details()).length())
            .as("the length of a complaint")
            .isLessThan(20_000);
        continue;
      }
      var planned = planned(text);
      assertThat(shape(planned.domainXml())).isEqualTo(shape(harmless.domainXml()));
      assertThat(keys(userData(planned))).isEqualTo(keys(userData(harmless)));
      assertThat(calls(script(planned))).hasSameSizeAs(calls(script(harmless)));
      assertThat(PlanJson.read(PlanJson.write(planned.plan()))).isEqualTo(planned.plan());
    }
  }

  @Test
  void whatAMountIsCalledReachesTheShellAsItIs() throws Exception {
    var values = new LinkedHashMap<>(FIELDS);
    values.put("diskMount", "/a'b$(c)\"`d`;e&f|g*");
    assertThat(calls(script(planned(pod(values)))))
        .anySatisfy(call -> assertThat(call).contains("/a'b$(c)\"`d`;e&f|g*"));
  }

  @Test
  void aSecretInThePodIsInNothingThatIsWrittenDown() throws Exception {
    var planned = planned(pod(FIELDS));
    assertThat(PlanJson.write(planned.plan()) + planned.domainXml() + planned)
        .doesNotContain(FIELDS.get("secret"));
    assertThat(planned.seed().shown().toString())
        .contains("/etc/config/a/level", "(4 bytes)")
        .doesNotContain(
            Base64.getEncoder().encodeToString("very".getBytes(StandardCharsets.UTF_8)));
  }

  @Test
  void yamlThatGrowsIsRefused() {
    var bomb = new StringBuilder("a: &a [x,x,x,x,x,x,x,x,x]\n");
    for (var c = 'b'; c < 'k'; c++) {
      var previous = (char) (c - 1);
      bomb.append(c + ": &" + c + " [" + ("*" + previous + ",").repeat(8) + "*" + previous + "]\n");
    }
    var values = new LinkedHashMap<>(FIELDS);
    assertThat(
            catchThrowable(
                () ->
                    planned(
                        pod(values)
                            .replace(
                                "VirtletCloudInitUserData: ",
                                "VirtletCloudInitUserData: "
                                    + quoted(bomb.toString())
                                    + "\n    x: "))))
        .isInstanceOf(PlatterException.class);
  }

  /** Names of elements and attributes, in order. */
  private static List<String> shape(String xml) throws Exception {
    Document document =
        DocumentBuilderFactory.newDefaultInstance()
            .newDocumentBuilder()
            .parse(new InputSource(new StringReader(xml)));
    var out = new ArrayList<String>();
    var elements = document.getElementsByTagName("*");
    for (var i = 0; i < elements.getLength(); i++) {
      var attributes = elements.item(i).getAttributes();
      out.add(elements.item(i).getNodeName());
      for (var j = 0; j < attributes.getLength(); j++) {
        out.add("@" + attributes.item(j).getNodeName());
      }
    }
    return out;
  }

  @SuppressWarnings("unchecked")
  private static Map<String, Object> userData(Planned planned) throws IOException {
    var text = planned.seed().files().get("user-data");
    assertThat(text).startsWith("#cloud-config\n");
    return JSON.readValue(text.substring(text.indexOf('\n')), Map.class);
  }

  /** Of each section, how many entries it has; each line is a key, so there may be more of them. */
  private static Map<String, Integer> keys(Map<String, Object> map) {
    var out = new TreeMap<String, Integer>();
    map.forEach((key, value) -> out.put(key, value instanceof List<?> list ? list.size() : 1));
    out.put("ssh_authorized_keys", 1);
    return out;
  }

  private static String script(Planned planned) throws IOException {
    for (var file : (List<?>) userData(planned).get("write_files")) {
      var entry = (Map<?, ?>) file;
      if ("/etc/cloud/mount-volumes.sh".equals(entry.get("path"))) {
        return String.valueOf(entry.get("content"));
      }
    }
    throw new AssertionError("no script");
  }

  /** What a shell calls, with the arguments as it sees them. */
  private static List<String> calls(String script) throws Exception {
    var harmless =
        script.replaceAll("(?m)^platter_(mount|link) ", "show ").replaceFirst("#!/bin/sh\n", "");
    var shell =
        new ProcessBuilder(
                "sh", "-ec", "show() { printf '%s\\037' \"$@\"; printf '\\036'; }\n" + harmless)
            .redirectErrorStream(true)
            .start();
    var out = new String(shell.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    assertThat(shell.waitFor()).isZero();
    return Stream.of(out.split("\036")).filter(call -> !call.isEmpty()).toList();
  }
}
