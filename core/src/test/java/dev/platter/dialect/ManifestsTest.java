package dev.platter.dialect;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import dev.platter.model.Access;
import dev.platter.model.Bus;
import dev.platter.model.ClaimSource;
import dev.platter.model.CopyMode;
import dev.platter.model.Disk;
import dev.platter.model.Endpoint;
import dev.platter.model.FileSource;
import dev.platter.model.Fill;
import dev.platter.model.IscsiSource;
import dev.platter.model.PlatterException;
import dev.platter.model.ServedSource;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class ManifestsTest {
  private static String vm(String disks) {
    return "kind: VM\nspec:\n  domain:\n    devices:\n      disks:\n" + disks.indent(6);
  }

  private static Disk disk(String yaml) {
    return Manifests.read("t.yaml", vm(yaml)).getFirst().disks().getFirst();
  }

  private static PlatterException refused(String text) {
    return catchThrowableOfType(PlatterException.class, () -> Manifests.read("t.yaml", text));
  }

  @Test
  void tabsAsIndentationAreNamedLineByLineWithWhatToWrite() {
    var original =
        """
            disks:
              - source:
                  pvc:
        \t    claimname: some-pvc-name
        \taccess-mode: read-only
        \tcopy:
        \t  mode: copy-on-write
                  usage-type: fast
        """;
    assertThat(refused(original).details())
        .hasSize(4)
        .first()
        .isEqualTo(
            "t.yaml:4: a tab is used as indentation, which YAML forbids; write: '            claimname: …'");
  }

  @Test
  void strayDashesAreNamedWithWhatToWrite() {
    var original =
        """
        kind: VirtualMachine
        spec:
          domain:
            devices:
              disks:
              - type: ContainerRegistryDisk:v1alpha
                - source:
                  name: vmdisks/fedora25:latest
                - target:
                  device: sda
        """;
    assertThat(refused(original).details())
        .containsExactly(
            "t.yaml:7: the dash starts a new list item, but this field belongs to the disk above; write: '       "
                + " source:'",
            "t.yaml:9: the dash starts a new list item, but this field belongs to the disk above; write: '       "
                + " target:'");
  }

  @Test
  void otherBrokenYamlNamesTheLine() {
    assertThat(refused("kind: VM\nspec: [1, 2\n").details())
        .singleElement()
        .asString()
        .startsWith("t.yaml:3: not YAML");
  }

  @Test
  void everythingThatIsWrongIsReportedAtOnceInTheOrderOfTheFile() {
    var e =
        refused(
            """
            kind: VM
            spec:
              domain:
                devices:
                  disks:
                  - source: {file: /a.raw}
                    acces-mode: read-only
                  - source: {blank: {}}
                  - source: {iscsi: {host: {name: h, port: 99999}, portal: x}}
                    target: {bus: virtio, device: sda}
                  - target: {bus: usb}
              colour: red
            """);
    assertThat(e.code()).isEqualTo(PlatterException.Code.INVALID);
    assertThat(e.details())
        .containsExactly(
            "t.yaml:7: spec.domain.devices.disks[0].acces-mode: unknown field; did you mean 'access-mode'?",
            "t.yaml:8: spec.domain.devices.disks[1].size: a blank disk needs a size, such as size: 10Gi",
            "t.yaml:9: spec.domain.devices.disks[2].source.iscsi.host.port: expected a whole number from 1 to 65535,"
                + " found '99999'",
            "t.yaml:9: spec.domain.devices.disks[2].source.iscsi.portal: 'x' is not an iSCSI name; it starts with"
                + " iqn., eui. or naa.",
            "t.yaml:10: spec.domain.devices.disks[2].target.device: sda is not on the virtio bus; write vda",
            "t.yaml:11: spec.domain.devices.disks[3]: the field 'source' is missing",
            "t.yaml:11: spec.domain.devices.disks[3].target.bus: expected one of scsi, virtio; found 'usb'",
            "t.yaml:12: spec.colour: unknown field; known here: cloudInit, domain, network");
  }

  @ParameterizedTest
  @CsvSource({
    "write-exclusive,WRITE_EXCLUSIVE",
    "write-shared,WRITE_SHARED",
    "read-shared,READ_SHARED",
    "read-only,READ_SHARED"
  })
  void accessModesAndTheirOtherName(String word, Access access) {
    assertThat(disk("- {source: {file: /a.raw}, access-mode: " + word + "}").access())
        .isEqualTo(access);
  }

  @Test
  void aPersistentDiskIsItsClaimAndKnowsItsImage() {
    var disk =
        disk(
            "- {type: 'ContainerRegistryDisk:v1alpha', source: {name: a}, persistent: b,"
                + " driver: {name: kubelet}}");
    assertThat(disk.source()).isEqualTo(new ClaimSource("b"));
    assertThat(disk.fill()).isEqualTo(new Fill("a", "default/b", ""));
    assertThat(disk.writesSource()).isTrue();
    assertThat(disk.access()).isEqualTo(Access.WRITE_EXCLUSIVE);
  }

  @Test
  void aVmWithAServedDiskKeepsNone() {
    var kept = "\n- {source: {blank: {}}, size: 1Gi, keep: true}";
    assertThat(refused(vm("- {source: {image: a}, serve: iscsi}" + kept)).details())
        .singleElement()
        .asString()
        .contains("disks[1].keep", "use a claim");
  }

  @Test
  void aServedDiskIsWrittenByItsVmAndByNobodyElse() {
    var disk = disk("- {type: 'ContainerRegistryDisk:v1alpha', source: {name: a}, serve: iscsi}");
    assertThat(disk.source()).isEqualTo(new ServedSource("a"));
    assertThat(disk.writesSource()).isTrue();
    assertThat(disk.access()).isEqualTo(Access.WRITE_EXCLUSIVE);
  }

  @ParameterizedTest
  @ValueSource(strings = {"3260", "'3260'"})
  void portsAreTextOrNumbersAndTheLunMayStandBesideIscsi(String port) {
    var yaml =
        "- source: {iscsi: {host: {name: h, port: "
            + port
            + "}, portal: 'iqn.2017-01.a:b'}, lun: 2}";
    assertThat(disk(yaml).source())
        .isEqualTo(new IscsiSource(new Endpoint("h", 3260), "iqn.2017-01.a:b", 2, null));
  }

  @Test
  void aLunBothInsideAndBesideIscsiIsAnError() {
    var yaml = "- source: {iscsi: {host: {name: h}, portal: 'iqn.2017-01.a:b', lun: 1}, lun: 2}";
    assertThat(refused(vm(yaml)).details())
        .singleElement()
        .asString()
        .contains("both inside and beside");
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "{source: {file: /a}, access-mode: write-shared, copy: {mode: copy-on-write}}",
        "{source: {file: /a}, access-mode: write-shared, copy: {mode: clone}}",
        "{source: {file: /a.qcow2}, access-mode: write-shared}",
        "{source: {file: /a}, size: 1Gi}",
        "{source: {file: /a}, keep: true}",
        "{source: {file: /a}, copy: {usage-type: fast}}",
        "{source: {file: /a}, driver: {name: qemu}}",
        "{source: {image: a}, copy: {mode: none}}",
        "{source: {blank: {}}, size: 1Gi, copy: {mode: clone}}",
        "{source: {blank: {}}, size: 1Gi, access-mode: read-only}",
        "{source: {blank: {}, file: /a}, size: 1Gi}",
        "{source: {file: /a}, name: 'a b'}",
        "{source: {file: /a}, name: 123456789012345678901}",
        "{source: {file: /a}, copy: {mode: sometimes}}",
        "{type: Floppy, source: {name: a}}",
        "{source: {pvc: {claimname: UPPER}}}",
        "{source: {pvc: a}, persistent: b}",
        "{source: {image: a}, persistent: UPPER}",
        "{source: {image: a}, persistent: ''}",
        "{source: {image: a}, persistent: b, access-mode: read-shared}",
        "{source: {image: a}, persistent: b, copy: {mode: clone}}",
        "{source: {image: a}, persistent: b, size: 1Gi}",
        "{source: {image: a}, persistent: b, keep: true}",
        "{source: {pvc: a}, serve: iscsi}",
        "{source: {image: a}, serve: nbd}",
        "{source: {image: a}, serve: iscsi, persistent: b}",
        "{source: {image: a}, serve: iscsi, copy: {mode: copy-on-write}}",
        "{source: {image: a}, serve: iscsi, copy: {usage-type: fast}}",
        "{source: {image: a}, serve: iscsi, keep: true}",
        "{source: {image: a}, serve: iscsi, size: 1Gi}",
        "{source: {image: a}, serve: iscsi, access-mode: write-shared}",
        "{source: {image: a}, serve: iscsi, driver: {name: qemu}}",
        "{source: {file: /a}, source: {file: /b}}"
      })
  void combinationsThatCannotWorkAreRefusedWithOneProblem(String disk) {
    assertThat(refused(vm("- " + disk)).details()).hasSize(1);
  }

  @Test
  void anImageIsCopiedOnWriteUnlessSaidOtherwiseAndAFileIsUsedInPlace() {
    assertThat(disk("- {source: {image: a}}").copy().mode()).isEqualTo(CopyMode.COPY_ON_WRITE);
    assertThat(disk("- {source: {file: /a}}").copy().mode()).isEqualTo(CopyMode.NONE);
  }

  @Test
  void theFormatOfAFileFollowsFromItsNameOrIsStatedButNeverGuessed() {
    assertThat(((FileSource) disk("- {source: {file: /a.qcow2}}").source()).format().word())
        .isEqualTo("qcow2");
    assertThat(
            ((FileSource) disk("- {source: {file: {path: /a.qcow2, format: raw}}}").source())
                .format()
                .word())
        .isEqualTo("raw");
    assertThat(((FileSource) disk("- {source: {file: /a.img}}").source()).format().word())
        .isEqualTo("raw");
  }

  @Test
  void disksWithoutATargetTakeTheFreeLettersInOrder() {
    var disks =
        Manifests.read(
                "t.yaml",
                vm(
                    "- {source: {file: /a}}\n- {source: {file: /b}, target: {device: sda}}\n- {source: {file: /c}}\n"))
            .getFirst()
            .disks();
    assertThat(disks)
        .extracting(disk -> disk.target().device())
        .containsExactly("sdb", "sda", "sdc");
  }

  @Test
  void twoDisksOnOneDeviceAreRefused() {
    var text =
        vm(
            "- {source: {file: /a}, target: {device: sda}}\n- {source: {file: /b}, target: {device: sda}}");
    assertThat(refused(text).details())
        .containsExactly(
            "t.yaml:7: spec.domain.devices.disks[1].target.device: two disks are sda; give each its own");
  }

  private static String disks(int count, Bus bus, boolean cloudInit) {
    var list =
        IntStream.range(0, count)
            .mapToObj(i -> "- {source: {file: /" + i + "}, target: {bus: " + bus.word() + "}}")
            .collect(Collectors.joining("\n"));
    return (vm(list) + (cloudInit ? "  cloudInit: {}\n" : ""));
  }

  @ParameterizedTest
  @CsvSource({"SCSI,26,false", "SCSI,25,true", "VIRTIO,20,false", "VIRTIO,19,true"})
  void theLastDiskThatFitsIsAcceptedAndOneMoreIsRefused(Bus bus, int most, boolean cloudInit) {
    assertThat(Manifests.read("t.yaml", disks(most, bus, cloudInit)).getFirst().disks())
        .hasSize(most);
    assertThat(refused(disks(most + 1, bus, cloudInit)).details())
        .singleElement()
        .asString()
        .contains("a VM can have " + bus.limit() + " disks on the " + bus.word() + " bus");
  }

  @Test
  void aLetterBeyondTheVirtioLimitIsRefused() {
    assertThat(refused(vm("- {source: {file: /a}, target: {device: vdu}}")).details())
        .singleElement()
        .asString()
        .contains("vdt is the last");
  }

  @ParameterizedTest
  @ValueSource(
      strings = {"kind: VM", "kind: VirtualMachine", "apiVersion: platter.dev/v1alpha1\nkind: VM"})
  void kindsWithAndWithoutApiVersion(String head) {
    var body = vm("- {source: {file: /a}}").replace("kind: VM", head);
    assertThat(Manifests.read("dir/My VM.yaml", body).getFirst().name()).isEqualTo("my-vm");
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "",
        "kind: Pod\n",
        "apiVersion: v2\nkind: VM\nspec: {domain: {devices: {disks: [{source: {file: /a}}]}}}\n",
        "just text"
      })
  void whatIsNoVmIsRefused(String text) {
    assertThat(refused(text).details()).isNotEmpty();
  }

  @ParameterizedTest
  @CsvSource({"12,10,exceeds the specified max", "24,2,more than 100000 values"})
  void aYamlBombIsRefusedInBoundedTime(int levels, int width, String message) {
    var bomb = new StringBuilder("a0: &a0 [x,x]\n");
    for (var i = 1; i < levels; i++) {
      var items = ("*a" + (i - 1) + ",").repeat(width - 1) + "*a" + (i - 1);
      bomb.append("a%d: &a%d [%s]\n".formatted(i, i, items));
    }
    var text =
        vm("- {source: {file: /a}}") + "  cloudInit:\n    userData:\n" + bomb.toString().indent(6);
    assertThat(refused(text).details()).anyMatch(line -> line.contains(message));
  }

  @ParameterizedTest
  @CsvSource({
    "512,512",
    "1k,1000",
    "1Ki,1024",
    "1.5Gi,1610612736",
    "10M,10000000",
    "2T,2000000000000"
  })
  void sizesAreKubernetesQuantities(String text, long bytes) {
    assertThat(dev.platter.model.ByteSize.parse(text).bytes()).isEqualTo(bytes);
  }

  @ParameterizedTest
  @ValueSource(strings = {"-1", "1GB", "ten", "", "99999999999E", "1 Gi"})
  void otherSizesAreRefused(String text) {
    assertThat(
            catchThrowableOfType(
                IllegalArgumentException.class, () -> dev.platter.model.ByteSize.parse(text)))
        .isNotNull();
  }
}
