package dev.platter.dialect;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import dev.platter.model.ContainerImageSource;
import dev.platter.model.Disk;
import dev.platter.model.GuestFile;
import dev.platter.model.Mount;
import dev.platter.model.PlatterException;
import dev.platter.model.Uuids;
import dev.platter.model.Vm;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class PodObjectsTest {
  private static final String RUNS_IMAGE = "platter.dev/container-image: \"true\"";

  private static String pod(String annotations, String container, String volumes) {
    return """
        kind: Pod
        metadata:
          name: vm
          annotations:
            kubernetes.io/target-runtime: virtlet.cloud
        %s
        spec:
          containers:
          - image: virtlet.cloud/debian
        %s
          volumes: [%s]
        """
        .formatted(annotations.indent(4), container.indent(4), volumes);
  }

  private static Vm vm(String annotations, String container, String volumes) {
    return Manifests.read("pod.yaml", pod(annotations, container, volumes)).getFirst();
  }

  private static String flex(String name, String options) {
    return "{name: %s, flexVolume: {driver: virtlet/flexvolume_driver, options: {%s}}}, "
        .formatted(name, options);
  }

  private static PlatterException refused(String text) {
    return catchThrowableOfType(PlatterException.class, () -> Manifests.objects("pod.yaml", text));
  }

  @Test
  void disksAreTheRootThenDevicesInTheirOrderThenVolumesByName() {
    var vm =
        vm(
            "",
            "volumeDevices: [{name: z, devicePath: /dev/z}, {name: y, devicePath: /dev/y}]",
            flex("vol2", "type: qcow2")
                + flex("vol10", "type: qcow2")
                + "{name: y, persistentVolumeClaim: {claimName: a}},"
                + "{name: z, persistentVolumeClaim: {claimName: b}}");
    assertThat(vm.disks())
        .extracting(Disk::name)
        .containsExactly("root", "z", "y", "vol10", "vol2");
    assertThat(vm.seedTarget().device()).isEqualTo("sdf");
  }

  @Test
  void everythingThatIsWrongIsSaidAtOnce() {
    var refused =
        refused(
            pod(
                """
                VirtletVCPUCount: many
                VirtletDiskDriver: ide
                VirtletRootVolumeSize: huge
                VirtletCloudInitImageType: floppy
                VirtletCloudInitUserData: '['
                VirtletCloudInitUserDataSource: configmap
                VirtletSSHKeySource: disk/keys
                VirtletFilesFromDataSource: secret/missing
                VirtletSystemUUID: '1'
                VirtletCPUModel: pentium
                VirtletLibvirtCPUSetting: 'speed: high'
                VirtletVCPUcount: '2'
                """,
                "volumeMounts: [{name: nothing, mountPath: relative}]",
                flex("a", "type: floppy")
                    + flex("b", "capacity: 1GiB")
                    + "{name: c, emptyDir: {}}"));
    assertThat(refused.details())
        .hasSize(17)
        .anySatisfy(line -> assertThat(line).contains("did you mean 'VirtletVCPUCount'?"));
  }

  @ParameterizedTest
  @CsvSource({
    "1024MB,1024000000",
    "1024,1024000000",
    "' 2 GiB ',2147483648",
    "2G,2147483648",
    "20M,20971520",
    "20000KB,20000256",
    "33554433bytes,33554944"
  })
  void aCapacityIsWrittenInUnitsOfLibvirt(String text, long bytes) {
    var disk = vm("", "", flex("a", "type: qcow2, capacity: '" + text + "'")).disks().get(1);
    assertThat(disk.size().bytes()).isEqualTo(bytes);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {"10Mi", "1.5G", "1024kb", "-1GB", "0", "1MB", "3TiB", "99999999999EB", "G"})
  void whatIsNoCapacityIsRefused(String text) {
    assertThat(refused(pod("", "", flex("a", "type: qcow2, capacity: '" + text + "'"))).details())
        .hasSize(1)
        .allSatisfy(line -> assertThat(line).contains("capacity"));
  }

  @Test
  void theDefaultCapacityIsThatOfTheDocument() {
    assertThat(vm("", "", flex("a", "type: qcow2")).disks().get(1).size().bytes())
        .isEqualTo(1_024_000_000);
  }

  @Test
  void aMountIsOfTheFirstPartitionUnlessTheVolumeSaysAnother() {
    var vm =
        vm(
            "",
            "volumeMounts: [{name: a, mountPath: /a}, {name: b, mountPath: /b, readOnly: true},"
                + " {name: c, mountPath: /c}]",
            flex("a", "type: qcow2")
                + flex("b", "type: qcow2, part: '0'")
                + flex("c", "type: qcow2, PART: '3'"));
    assertThat(vm.inside().mounts())
        .containsExactly(
            new Mount("a", 1, "/a", false),
            new Mount("b", 0, "/b", true),
            new Mount("c", 3, "/c", false));
  }

  @Test
  void aLongNameOfAVolumeIsCutForTheSerialAndStaysApart() {
    var one = "a-volume-with-a-very-long-name-1";
    var two = "a-volume-with-a-very-long-name-2";
    var disks = vm("", "", flex(one, "type: qcow2") + flex(two, "type: qcow2")).disks();
    assertThat(disks.get(1).name()).hasSizeLessThanOrEqualTo(20).isNotEqualTo(disks.get(2).name());
    assertThat(disks.get(1).source().toString()).contains(one);
  }

  @Test
  void aContainerImageRunsWhatItsContainerSays() {
    var vm =
        vm(
            RUNS_IMAGE,
            "command: [a, 'b c']\nenv: [{name: LINES, value: \"one\\ntwo\"}]\n"
                + "workingDir: /srv\nsecurityContext: {runAsUser: 7, runAsGroup: 8}",
            "");
    var source = (ContainerImageSource) vm.bootDisk().source();
    assertThat(source)
        .isEqualTo(
            new ContainerImageSource(
                "debian",
                List.of("a", "b c"),
                null,
                Map.of("LINES", "one\ntwo"),
                "/srv",
                "7:8",
                false));
    assertThat(vm.cloudInit()).isNull();
    assertThat(vm.bootDisk().keep()).isFalse();
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "VirtletCloudInitUserData: 'a: b' | '' | is not for a container image",
        "VirtletRootVolumeSize: 10Gi | '' | is not for a container image",
        "VirtletVMIdentitySet: pets | '' | is not for a container image",
        "'' | volumeMounts: [{name: v0, mountPath: /data}] | disks are not mounted",
        "'' | securityContext: {runAsGroup: 8} | runAsGroup needs runAsUser",
        "'' | securityContext: {runAsUser: -1} | expected a whole number",
        "'' | envFrom: [{configMapRef: {name: x}}] | is not supported",
      })
  void whatOnlyADiskCouldHaveIsRefusedOfAContainerImage(
      String annotation, String container, String why) {
    assertThat(refused(pod(RUNS_IMAGE + "\n" + annotation, container, flexes(1))).details())
        .anyMatch(line -> line.contains(why));
  }

  @ParameterizedTest
  @CsvSource({"scsi,24", "virtio,18"})
  void aVmHasAsManyDisksAsItsBusTakes(String driver, int volumes) {
    var annotation = "VirtletDiskDriver: " + driver;
    assertThat(vm(annotation, "", flexes(volumes)).disks()).hasSize(volumes + 1);
    assertThat(refused(pod(annotation, "", flexes(volumes + 1))).details())
        .singleElement()
        .asString()
        .contains("one more");
  }

  private static String flexes(int count) {
    return IntStream.range(0, count)
        .mapToObj(i -> flex("v" + i, "type: qcow2"))
        .collect(Collectors.joining());
  }

  @Test
  void theUuidIsThatOfThePodUnlessItIsGiven() {
    var space = UUID.fromString("67b7fb47-7735-4b64-86d2-6d062d121966");
    assertThat(vm("", "", "").uuid()).isEqualTo(Uuids.version5(space, "default/vm"));
    assertThat(vm("", "", "").uuid().variant()).isEqualTo(2);
    var given = "53008994-44c0-4017-ad44-9c49758083da";
    assertThat(vm("VirtletSystemUUID: " + given, "", "").uuid()).hasToString(given);
  }

  @ParameterizedTest
  @CsvSource({
    "'',1,1073741824",
    "'resources: {limits: {cpu: 1500m, memory: 768Mi}}',2,805306368",
    "'resources: {requests: {cpu: \"3\", memory: 1G}}',3,1000000000"
  })
  void resourcesAreCpusAndMemory(String resources, int cpus, long memory) {
    var vm = vm("", resources, "");
    assertThat(vm.cpus()).isEqualTo(cpus);
    assertThat(vm.memory().bytes()).isEqualTo(memory);
  }

  @Test
  void theCountOfCpusIsThatOfTheAnnotationIfThereIsOne() {
    assertThat(vm("VirtletVCPUCount: '4'", "resources: {limits: {cpu: 1}}", "").cpus())
        .isEqualTo(4);
    assertThat(vm("VirtletVCPUCount: '-1'", "", "").cpus()).isEqualTo(1);
    assertThat(refused(pod("VirtletVCPUCount: '256'", "", "")).details()).hasSize(1);
  }

  private static final String CONFIG =
      "---\nkind: ConfigMap\nmetadata: {name: c}\ndata: {a: one, b: two}\n";

  @Test
  void filesHaveTheModesThatYamlAndJsonGiveThem() {
    var text =
        pod(
                "",
                "volumeMounts: [{name: v, mountPath: /v}]",
                "{name: v, configMap: {name: c, defaultMode: 0440, items: [{key: a, path: x/a},"
                    + " {key: b, path: b, mode: 256}]}}")
            + CONFIG;
    var files = Manifests.read("pod.yaml", text).getFirst().inside().files();
    assertThat(files).extracting(GuestFile::path).containsExactly("/v/b", "/v/x/a");
    assertThat(files).extracting(GuestFile::mode).containsExactly(0400, 0440);
    assertThat(new String(files.getFirst().content().bytes(), StandardCharsets.UTF_8))
        .isEqualTo("two");
  }

  @Test
  void aSubPathIsOneFileOrOneDirectory() {
    var text =
        pod(
                "",
                "volumeMounts: [{name: v, mountPath: /one, subPath: b},"
                    + " {name: v, mountPath: /dir, subPath: x}]",
                "{name: v, configMap: {name: c, items: [{key: a, path: x/a}, {key: b, path: b}]}}")
            + CONFIG;
    assertThat(Manifests.read("pod.yaml", text).getFirst().inside().files())
        .extracting(GuestFile::path)
        .containsExactly("/one", "/dir/a");
  }

  @Test
  void anObjectThatIsMissingIsAnErrorUnlessItIsOptional() {
    var volume = "{name: v, secret: {secretName: no, optional: %s}}";
    var mount = "volumeMounts: [{name: v, mountPath: /v}]";
    assertThat(vm("", mount, volume.formatted(true)).inside().files()).isEmpty();
    assertThat(refused(pod("", mount, volume.formatted(false))).details())
        .singleElement()
        .asString()
        .contains("there is no Secret default/no");
  }

  @Test
  void whatAPodRefersToMayBeInAnotherFile() {
    var others = Manifests.objects("config.yaml", CONFIG);
    var text =
        pod("", "volumeMounts: [{name: v, mountPath: /v}]", "{name: v, configMap: {name: c}}");
    assertThat(Manifests.objects("pod.yaml", text, others).vms().getFirst().inside().files())
        .hasSize(2);
  }

  @Test
  void aScriptIsNotSilentlyWithoutItsMounts() {
    var script = "VirtletCloudInitUserDataScript: '#!/bin/sh'";
    var mount = "volumeMounts: [{name: a, mountPath: /a}]";
    assertThat(refused(pod(script, mount, flex("a", "type: qcow2"))).details())
        .singleElement()
        .asString()
        .contains("@virtlet-mount-script@");
  }

  @Test
  void anOrdinaryPodIsRefused() {
    assertThatThrownBy(
            () ->
                Manifests.read(
                    "pod.yaml",
                    "kind: Pod\nmetadata: {name: a, annotations: {x: y}}\nspec: {containers: [{image: b}]}"))
        .isInstanceOf(PlatterException.class);
  }

  @Test
  void userDataIsThatOfTheSourceAndThenOfTheAnnotation() {
    var source =
        "---\nkind: ConfigMap\nmetadata: {name: d}\ndata: {users: '[{name: a}]', timezone: X}\n";
    var annotations =
        "VirtletCloudInitUserDataSource: configmap/d\n"
            + "VirtletCloudInitUserData: '{users: [{name: b}], timezone: Y}'\n";
    var merged = Manifests.read("pod.yaml", pod(annotations, "", "") + source).getFirst();
    assertThat(merged.cloudInit().userData().toString())
        .isEqualTo("{timezone=Y, users=[{name=a}, {name=b}]}");
    var overwritten =
        Manifests.read(
                "pod.yaml",
                pod(annotations + "VirtletCloudInitUserDataOverwrite: 'true'", "", "") + source)
            .getFirst();
    assertThat(overwritten.cloudInit().userData().toString())
        .isEqualTo("{users=[{name=b}], timezone=Y}");
  }

  @Test
  void plainWordsAreTheTruthValuesThatCloudInitTakesThemFor() {
    var annotation =
        "VirtletCloudInitUserData: '{users: [{lock_passwd: False, sudo: no, name: \"no\"}]}'";
    assertThat(vm(annotation, "", "").cloudInit().userData().toString())
        .isEqualTo("{users=[{lock_passwd=false, sudo=false, name=no}]}");
    assertThat(
            ((java.util.Map<?, ?>)
                    ((java.util.List<?>) vm(annotation, "", "").cloudInit().userData().get("users"))
                        .getFirst())
                .get("name"))
        .isEqualTo("no");
  }

  @Test
  void noTwoVolumesAreMountedInOnePlaceAndInnerOnesComeLast() {
    var volumes = flex("a", "type: qcow2") + flex("b", "type: qcow2");
    assertThat(
            vm("", "volumeMounts: [{name: a, mountPath: /x/y/}, {name: b, mountPath: /x}]", volumes)
                .inside()
                .mounts())
        .extracting(Mount::path)
        .containsExactly("/x", "/x/y");
    assertThat(
            refused(
                    pod(
                        "",
                        "volumeMounts: [{name: a, mountPath: /x}, {name: b, mountPath: /x/}]",
                        volumes))
                .details())
        .singleElement()
        .asString()
        .contains("something else is mounted there");
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "{name: v, flexVolume: {driver: virtlet/flexvolume_driver, readonly: true, options: {type: qcow2}}}",
        "{name: v, flexVolume: {driver: virtlet/flexvolume_driver, secretRef: {name: a, namespace: other},"
            + " options: {type: ceph, monitor: 'h:1', volume: a}}}",
        "{name: v, flexVolume: {driver: virtlet/flexvolume_driver, secretRef: {name: a, namespace: Pod},"
            + " options: {type: ceph, monitor: 'h:1', volume: a}}}",
        "{name: v, emptyDir: {}}",
      })
  void aVolumeThatIsNoGoodIsOneProblem(String volume) {
    assertThat(refused(pod("", "volumeMounts: [{name: v, mountPath: /v}]", volume)).details())
        .hasSize(1);
  }

  @Test
  void noSecretHasTheNameOfAKeyThatStandsInAPod() {
    assertThat(refused("kind: Secret\nmetadata: {name: a.b.c, namespace: Pod}\n").details())
        .singleElement()
        .asString()
        .contains("metadata.namespace");
  }

  @Test
  void aVolumeThatIsReadOnlyGivesAReadOnlyDisk() {
    var text =
        pod("", "", "{name: v, persistentVolumeClaim: {claimName: c}}")
            + """
            ---
            kind: PersistentVolume
            metadata: {name: pv}
            spec:
              capacity: {storage: 1G}
              accessModes: [ReadWriteOnce]
              flexVolume:
                driver: virtlet/flexvolume_driver
                readOnly: true
                options: {type: raw, path: /dev/loop0}
            ---
            kind: PersistentVolumeClaim
            metadata: {name: c}
            spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1G}}}
            """;
    assertThat(Manifests.read("pod.yaml", text).getFirst().disks().get(1).writable()).isFalse();
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "VirtletCloudInitUserDataScript: '#!/bin/sh'\nVirtletCloudInitUserData: '{a: b}'",
        "VirtletCloudInitUserDataScript: '#!/bin/sh'\nVirtletCloudInitUserDataSource: configmap/c",
        "VirtletCloudInitUserData: '{a: b}'\nVirtletCloudInitUserDataSource: configmap/c\n"
            + "VirtletCloudInitUserDataSourceKey: s",
      })
  void aScriptAndOtherUserDataDoNotGoTogether(String annotations) {
    var script = "---\nkind: ConfigMap\nmetadata: {name: c}\ndata: {s: '#!/bin/sh'}\n";
    assertThat(refused(pod(annotations, "", "") + script).details()).hasSize(1);
  }

  @Test
  void variablesOfASecretAreForRootAlone() {
    var secret = "---\nkind: Secret\nmetadata: {name: s}\nstringData: {k: v}\n";
    var env = "env: [{name: A, valueFrom: {secretKeyRef: {name: s, key: k}}}]";
    assertThat(Manifests.read("pod.yaml", pod("", env, "") + secret).getFirst().inside().files())
        .singleElement()
        .satisfies(file -> assertThat(file.mode()).isEqualTo(0600));
    assertThat(
            refused(pod("VirtletCloudInitUserDataScript: '#!/bin/sh'", env, "") + secret).details())
        .hasSize(1);
  }

  @Test
  void userDataMayBeOneKeyOfASecretAndItsTextIsInNoComplaint() {
    var secret =
        "---\nkind: Secret\nmetadata: {name: s}\nstringData: {script: '#!/bin/sh', bad: 'hunter2: ['}\n";
    var annotations =
        "VirtletCloudInitUserDataSource: secret/s\nVirtletCloudInitUserDataSourceKey: ";
    assertThat(
            Manifests.read("pod.yaml", pod(annotations + "script", "", "") + secret)
                .getFirst()
                .cloudInit()
                .userDataText())
        .isEqualTo("#!/bin/sh");
    assertThat(refused(pod(annotations + "bad", "", "") + secret).details())
        .singleElement()
        .asString()
        .doesNotContain("hunter2");
  }
}
