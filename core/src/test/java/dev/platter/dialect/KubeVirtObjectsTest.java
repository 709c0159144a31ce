package dev.platter.dialect;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import dev.platter.model.Access;
import dev.platter.model.ByteSize;
import dev.platter.model.ClaimSource;
import dev.platter.model.CopyMode;
import dev.platter.model.Disk;
import dev.platter.model.ImageSource;
import dev.platter.model.PlatterException;
import dev.platter.model.Vm;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class KubeVirtObjectsTest {
  private static final String IMAGE = "{name: root, containerDisk: {image: a/b:1}}";

  private static String instance(String disks, String volumes) {
    return """
    apiVersion: kubevirt.io/v1
    kind: VirtualMachineInstance
    metadata: {name: vmi}
    spec:
      domain: {devices: {disks: [%s]}}
      volumes: [%s]
    """
        .formatted(disks, volumes);
  }

  private static Vm vm(String text) {
    return Manifests.objects("vm.yaml", text).vms().getFirst();
  }

  private static Disk disk(Vm vm, String name) {
    return vm.disks().stream().filter(disk -> disk.name().equals(name)).findFirst().orElseThrow();
  }

  @Test
  void aVolumeThatNoDiskNamesIsADiskOfItsOwn() {
    var vm = vm(instance("", IMAGE));
    assertThat(vm.disks()).extracting(disk -> disk.target().device()).containsExactly("sda");
    assertThat(disk(vm, "root").source()).isEqualTo(new ImageSource("a/b:1"));
    assertThat(disk(vm, "root").copy().mode()).isEqualTo(CopyMode.COPY_ON_WRITE);
    assertThat(disk(vm, "root").keep()).isFalse();
  }

  @Test
  void theLowestBootOrderIsBootedWhereverItStands() {
    var vm =
        vm(
            instance(
                "{name: data, bootOrder: 2}, {name: more}, {name: root, bootOrder: 1}",
                IMAGE
                    + ", {name: data, persistentVolumeClaim: {claimName: c}}"
                    + ", {name: more, emptyDisk: {capacity: 1Gi}}"));
    assertThat(vm.bootDisk().name()).isEqualTo("root");
    assertThat(vm.disks()).extracting(Disk::name).containsExactly("root", "data", "more");
  }

  @Test
  void claimsAreWrittenByOneVmUnlessTheySaySo() {
    var vm =
        vm(
            instance(
                "{name: own}, {name: both, shareable: true}, {name: cd, cdrom: {bus: sata}}",
                "{name: own, persistentVolumeClaim: {claimName: a}},"
                    + " {name: both, persistentVolumeClaim: {claimName: b}},"
                    + " {name: cd, persistentVolumeClaim: {claimName: c}},"
                    + " {name: read, persistentVolumeClaim: {claimName: d, readOnly: true}},"
                    + " {name: gone, ephemeral: {persistentVolumeClaim: {claimName: e}}},"
                    + " {name: made, dataVolume: {name: f}}"));
    assertThat(disk(vm, "own").access()).isEqualTo(Access.WRITE_EXCLUSIVE);
    assertThat(disk(vm, "both").access()).isEqualTo(Access.WRITE_SHARED);
    assertThat(disk(vm, "cd").access()).isEqualTo(Access.READ_SHARED);
    assertThat(disk(vm, "read").access()).isEqualTo(Access.READ_SHARED);
    assertThat(disk(vm, "gone").copy().mode()).isEqualTo(CopyMode.COPY_ON_WRITE);
    assertThat(disk(vm, "made").source()).isEqualTo(new ClaimSource("f"));
  }

  @Test
  void aCdromIsOnlyReadAlsoOfADataVolumeThatIsMadeForTheVm() {
    var vm =
        vm(
            instance(
                    "{name: root}, {name: cd, cdrom: {}}, {name: fixed, disk: {readonly: true}}",
                    "{name: root, containerDisk: {image: x}}, {name: cd, dataVolume: {name: dv}},"
                        + " {name: fixed, dataVolume: {name: of-claim}}")
                + """
                ---
                apiVersion: cdi.kubevirt.io/v1beta1
                kind: DataVolume
                metadata: {name: dv}
                spec:
                  source: {registry: {url: "docker://r.example/d"}}
                  storage: {resources: {requests: {storage: 10Gi}}}
                ---
                apiVersion: cdi.kubevirt.io/v1beta1
                kind: DataVolume
                metadata: {name: of-claim}
                spec:
                  source: {pvc: {name: c}}
                  storage: {resources: {requests: {storage: 10Gi}}}
                """);
    for (var name : List.of("cd", "fixed")) {
      var disk = disk(vm, name);
      assertThat(disk.writable()).isFalse();
      assertThat(disk.size()).isNull();
      assertThat(disk.keep()).isFalse();
    }
    assertThat(disk(vm, "cd").source()).isEqualTo(new ImageSource("r.example/d"));
  }

  @Test
  void aDataVolumeOfAnImageIsAKeptOverlayOnIt() {
    var vm =
        vm(
            instance("", "{name: root, dataVolume: {name: dv}}")
                + """
                ---
                apiVersion: cdi.kubevirt.io/v1beta1
                kind: DataVolume
                metadata: {name: dv}
                spec:
                  source: {registry: {url: "docker://a/b:1"}}
                  pvc: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 7Gi}}}
                """);
    assertThat(disk(vm, "root").source()).isEqualTo(new ImageSource("a/b:1"));
    assertThat(disk(vm, "root").keep()).isTrue();
    assertThat(disk(vm, "root").size()).isEqualTo(ByteSize.parse("7Gi"));
  }

  @Test
  void userDataOfASecretIsPassedOnAndShownToNobody() {
    var vm =
        vm(
            instance("", IMAGE + ", {name: ci, cloudInitConfigDrive: {secretRef: {name: s}}}")
                + "---\nkind: Secret\nmetadata: {name: s}\nstringData: {userdata: \"#!/bin/sh\\necho hunter2\"}\n");
    var cloudInit = java.util.Objects.requireNonNull(vm.cloudInit());
    assertThat(cloudInit.userDataText()).isEqualTo("#!/bin/sh\necho hunter2");
    assertThat(cloudInit.secret()).isTrue();
    assertThat(vm.disks()).hasSize(1);
  }

  @Test
  void memoryIsThatOfTheGuestOrWhatIsAskedFor() {
    var text = instance("", IMAGE);
    assertThat(vm(text.replace("devices:", "memory: {guest: 64Mi}, devices:")).memory())
        .isEqualTo(ByteSize.parse("64Mi"));
    assertThat(
            vm(text.replace("devices:", "resources: {requests: {memory: 48M}}, devices:")).memory())
        .isEqualTo(ByteSize.parse("48M"));
    assertThat(
            vm(text.replace("devices:", "cpu: {sockets: 2, cores: 3, threads: 2}, devices:"))
                .cpus())
        .isEqualTo(12);
  }

  @Test
  void serialsAreCutToWhatAGuestSeesAndStayDifferent() {
    var vm =
        vm(
            instance(
                "",
                "{name: a-volume-with-a-long-name-one, emptyDisk: {capacity: 1Mi}},"
                    + " {name: a-volume-with-a-long-name-two, emptyDisk: {capacity: 1Mi}}"));
    assertThat(vm.disks())
        .extracting(Disk::name)
        .containsExactly("a-volume-with-a-long", "a-volume-with-a-lo-2");
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "'' | {name: a} | says not what the volume is",
        "'' | {name: a, containerDisk: {image: x}, emptyDisk: {capacity: 1Gi}} | a volume is one of them",
        "'' | {name: a, configMap: {name: x}} | does not read this kind of volume",
        "'' | {name: a, containerDisk: {image: x, path: /etc/shadow}} | a file in /disk",
        "'' | {name: a, containerDisk: {imgae: x}} | did you mean 'image'",
        "'' | {name: a, hostDisk: {path: ../x, type: Disk}} | path",
        "'' | {name: a, hostDisk: {path: /x, type: DiskOrCreate}} | truncate",
        "'' | {name: a, emptyDisk: {capacity: lots}} | capacity",
        "'' | {name: a, persistentVolumeClaim: {claimName: ../x}} | is not a name",
        "'' | {name: a, cloudInitNoCloud: {}} | userData",
        "'' | {name: a, cloudInitNoCloud: {secretRef: {name: nobody}}} | there is no Secret default/nobody",
        "'' | {name: a, cloudInitNoCloud: {userData: x, networkData: '- hunter2'}} | not a YAML mapping",
        "{name: b} | {name: a, emptyDisk: {capacity: 1Gi}} | there is no volume b",
        "{name: a, disk: {bus: nvme}} | {name: a, emptyDisk: {capacity: 1Gi}} | expected one of sata, scsi, usb, virtio",
        "{name: a, disk: {}, cdrom: {}} | {name: a, emptyDisk: {capacity: 1Gi}} | a disk is one of them",
        "{name: a, cdrom: {}} | {name: a, emptyDisk: {capacity: 1Gi}} | made for this VM alone",
        "'' | '' | at least one volume"
      })
  void whatCannotBeRunIsTold(String disks, String volumes, String problem) {
    var error =
        catchThrowableOfType(
            PlatterException.class,
            () -> Manifests.objects("vm.yaml", instance(disks.strip(), volumes.strip())));
    assertThat(error).as("refused").isNotNull();
    assertThat(error.details()).anySatisfy(line -> assertThat(line).contains(problem));
    assertThat(error.details()).noneMatch(line -> line.contains("hunter2"));
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "{http: {url: 'https://example.com/d.qcow2'}} | platter import",
        "{registry: {url: 'oci-archive:x'}} | expected docker://IMAGE",
        "{pvc: {name: a, namespace: other}} | claims of its own namespace",
        "{} | says not where"
      })
  void whatADataVolumeCannotBeMadeFromIsTold(String source, String problem) {
    var text =
        """
        apiVersion: kubevirt.io/v1
        kind: VirtualMachine
        metadata: {name: vm}
        spec:
          dataVolumeTemplates: [{metadata: {name: dv}, spec: {source: %s}}]
          template: {spec: {domain: {}, volumes: [{name: root, dataVolume: {name: dv}}]}}
        """
            .formatted(source);
    var error =
        catchThrowableOfType(PlatterException.class, () -> Manifests.objects("vm.yaml", text));
    assertThat(error.details()).anySatisfy(line -> assertThat(line).contains(problem));
  }
}
